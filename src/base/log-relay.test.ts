import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import test from 'node:test';
import { createLog, type LeveledSink } from './log.ts';
import { type RelayedLine, relayLog, writeRelayed } from './log-relay.ts';

/** A destination that keeps its lines as objects. */
function memorySink(): LeveledSink & { readonly lines: Record<string, unknown>[] } {
  const lines: Record<string, unknown>[] = [];
  return {
    lines,
    write: (line) => lines.push(JSON.parse(line)),
    [Symbol.asyncDispose]: async () => {},
  };
}

const eventsOf = (lines: readonly Record<string, unknown>[]): unknown[] =>
  lines.map((line) => line['event']);

test('a relayed log sends the lines of one turn once, in order, with their levels', async () => {
  const sent: (readonly RelayedLine[])[] = [];
  const log = relayLog('debug', -1, (lines) => sent.push(lines), { worker: 3 });
  log.info('first', { a: 1 });
  log.child({ part: 'x' }).error('second');
  log.trace('unheard');
  assert.equal(sent.length, 0);
  await turn();
  log.debug('third');
  await turn();
  assert.deepEqual(
    sent.map((lines) => lines.map(([level]) => level)),
    [[30, 50], [20]],
  );
  const lines = sent.flat().map(([, line]) => {
    assert.ok(line.endsWith('\n'));
    return JSON.parse(line) as Record<string, unknown>;
  });
  assert.deepEqual(eventsOf(lines), ['first', 'second', 'third']);
  assert.deepEqual(
    lines.map((line) => line['worker']),
    [3, 3, 3],
  );
  assert.deepEqual([lines[0]?.['a'], lines[1]?.['part']], [1, 'x']);
});

test('a relayed log keeps secrets, limits and its level as any other', async () => {
  const sent: RelayedLine[] = [];
  const log = relayLog('warning', 4, (lines) => sent.push(...lines));
  log.info('unheard');
  log.setLevel('info');
  log.info('heard', { password: 'p', long: 'abcdef' });
  await turn();
  const found = sent.map(([, line]) => JSON.parse(line) as Record<string, unknown>);
  assert.deepEqual(eventsOf(found), ['heard']);
  assert.deepEqual([found[0]?.['password'], found[0]?.['long']], ['[hidden]', 'abcd…']);
});

test('relayed lines go to the sinks of their level, whatever the level of the log', async () => {
  const [all, severe] = [memorySink(), memorySink()];
  const target = createLog('emergency', [
    { from: 'trace', sink: all },
    { from: 'error', sink: severe },
  ]);
  const log = relayLog('trace', -1, (lines) => writeRelayed(target, lines));
  log.trace('a');
  log.error('b');
  await turn();
  assert.deepEqual(eventsOf(all.lines), ['a', 'b']);
  assert.deepEqual(eventsOf(severe.lines), ['b']);
});

test('a relayed log sends what is left when it is disposed, and nothing twice', async () => {
  const sent: (readonly RelayedLine[])[] = [];
  const log = relayLog('info', -1, (lines) => sent.push(lines));
  log.info('last words');
  const disposed = log[Symbol.asyncDispose]();
  assert.equal(sent.length, 1, 'a thread that ends may have no later');
  await disposed;
  await turn();
  assert.equal(sent.length, 1);
});

test('a relayed log does not hold a flood until the end of the turn', async () => {
  const sent: (readonly RelayedLine[])[] = [];
  const log = relayLog('info', -1, (lines) => sent.push(lines));
  for (let i = 0; i < 2500; i++) log.info('flood', { i });
  assert.deepEqual(
    sent.map((lines) => lines.length),
    [1000, 1000],
  );
  await turn();
  const numbers = sent.flat().map(([, line]) => (JSON.parse(line) as { readonly i: number }).i);
  assert.deepEqual(
    numbers,
    Array.from({ length: 2500 }, (_, i) => i),
  );
});
