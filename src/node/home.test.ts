// Law: a client id has one home among so many workers, today and after the next start.

import assert from 'node:assert/strict';
import test from 'node:test';
import { homeOf } from './home.ts';

test('a home is found by FNV-1a', () => {
  const homes = ['', 'a', 'foobar'].map((id) => homeOf(id, 64));
  assert.deepEqual(homes, [0x811c9dc5 % 64, 0xe40c292c % 64, 0xbf9cf968 % 64]);
});

test('everything is at home in the only worker', () => {
  for (const id of ['', 'a', 'sensor-1']) assert.equal(homeOf(id, 1), 0);
});

test('client ids that are alike are spread over all workers', () => {
  for (const workers of [2, 3, 7, 64]) {
    for (const name of [(i: number) => `sensor-${i}`, (i: number) => `${i}`.padStart(8, '0')]) {
      const counts = new Array<number>(workers).fill(0);
      const clients = 1000 * workers;
      for (let i = 0; i < clients; i++) {
        const home = homeOf(name(i), workers);
        counts[home] = (counts[home] ?? 0) + 1;
      }
      for (const count of counts)
        assert.ok(count > 700 && count < 1300, `${workers}: ${counts.join()}`);
    }
  }
});
