import assert from 'node:assert/strict';
import test from 'node:test';
import { CalmLog } from './calm-log.ts';
import { VirtualClock } from './clock.ts';
import type { Logger } from './log.ts';

test('of what fails all the time a few lines are written, and then how many were left out', () => {
  const clock = new VirtualClock();
  const lines: object[] = [];
  const log = { error: (event: string, fields: object) => void lines.push({ event, ...fields }) };
  const calm = new CalmLog(log as unknown as Logger, clock);
  let described = 0;
  const fail = (matter: string): void =>
    calm.error(matter, 'it.failed', () => ({ matter, number: ++described }));
  for (let failure = 0; failure < 1000; failure += 1) fail('one');
  assert.deepEqual([lines.length, described], [20, 20]);
  fail('other');
  assert.deepEqual(lines.at(-1), { event: 'it.failed', matter: 'other', number: 21 });
  clock.advance(10_000);
  fail('one');
  fail('one');
  assert.deepEqual(lines.slice(-2), [
    { event: 'it.failed', matter: 'one', number: 22, leftOut: 980 },
    { event: 'it.failed', matter: 'one', number: 23 },
  ]);
});
