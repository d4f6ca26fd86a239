import assert from 'node:assert/strict';
import test from 'node:test';
import type { Watcher } from '#core/filter-node';
import type { Message } from '#core/message';
import { Watches } from './watches.ts';

class Topics {
  readonly watched: (readonly [string | undefined, Watcher])[] = [];

  watch(filter: string | undefined, watcher: Watcher): void {
    this.watched.push([filter, watcher]);
  }

  unwatch(filter: string | undefined, watcher: Watcher): void {
    const at = this.watched.findIndex((one) => one[0] === filter && one[1] === watcher);
    assert.ok(at >= 0, `"${filter}" is not watched`);
    this.watched.splice(at, 1);
  }

  get filters(): readonly (string | undefined)[] {
    return this.watched.map(([filter]) => filter);
  }
}

const unexpected = (error: unknown): never => assert.fail(String(error));

test('what is watched while a plugin starts is seen when it has started', () => {
  const topics = new Topics();
  const watches = new Watches(topics, unexpected);
  const stop = watches.add('a', () => undefined);
  watches.add(undefined, () => undefined);
  stop();
  assert.deepEqual([topics.filters, watches.count], [[], 1]);
  watches.place();
  assert.deepEqual(topics.filters, [undefined]);
  const late = watches.add('b/#', () => undefined);
  assert.deepEqual(topics.filters, [undefined, 'b/#']);
  late();
  late();
  watches.end();
  assert.deepEqual([topics.filters, watches.count], [[], 0]);
  assert.throws(() => watches.add('c', () => undefined), /the plugin is unloaded/);
});

test('a function with several filters is one watcher, and what it throws is told', () => {
  const topics = new Topics();
  const failures: unknown[] = [];
  const watches = new Watches(topics, (error) => void failures.push(error));
  const call = (): never => {
    throw new Error('no');
  };
  watches.place();
  watches.add('a', call);
  watches.add('b', call);
  const [[, one], [, two]] = topics.watched as [[string, Watcher], [string, Watcher]];
  assert.equal(one, two);
  one({} as Message);
  assert.equal((failures[0] as Error).message, 'no');
  assert.throws(() => watches.add('a', call), /this function does already/);
});

for (const filter of ['', 'a/#/b', '$share/g/a']) {
  test(`"${filter}" cannot be watched`, () => {
    const watches = new Watches(new Topics(), unexpected);
    assert.throws(() => watches.add(filter, () => undefined), /Cannot watch/);
  });
}
