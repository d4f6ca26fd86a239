import assert from 'node:assert/strict';
import test from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { VirtualClock } from '#base/clock';
import { TraceTail } from './trace-tail.ts';

test('a tail gives lines as they come, and the end behind them', async () => {
  const tail = new TraceTail(new VirtualClock());
  let isGone = false;
  tail.onGone = () => void (isGone = true);
  const read = Array.fromAsync(tail);
  await turn();
  tail.push('one');
  await turn();
  tail.push('two');
  tail.push('three');
  tail.end('stopped');
  tail.push('late');
  assert.deepEqual(
    (await read).join(''),
    [
      ': tail\n\n',
      'event: line\ndata: one\n\n',
      'event: line\ndata: two\n\n',
      'event: line\ndata: three\n\n',
      'event: end\ndata: stopped\n\n',
    ].join(''),
  );
  assert.ok(isGone);
});

test('a tail that is not read is bounded and tells how much was lost', async () => {
  const tail = new TraceTail(new VirtualClock(), 2);
  for (let i = 0; i < 10; i++) tail.push(String(i));
  tail.end('full');
  const text = (await Array.fromAsync(tail)).join('');
  assert.equal(
    text,
    ': tail\n\nevent: line\ndata: 0\n\nevent: line\ndata: 1\n\nevent: lost\ndata: 8\n\nevent: end\ndata: full\n\n',
  );
});

test('a tail gives signs of life, and ends when nobody reads', async () => {
  const clock = new VirtualClock();
  const tail = new TraceTail(clock);
  const read = Array.fromAsync(tail);
  await turn();
  clock.advance(15_000);
  await turn();
  clock.advance(15_000);
  await turn();
  tail.abandon();
  assert.deepEqual(await read, [': tail\n\n', ': \n\n', ': \n\n']);
  assert.equal(clock.timerCount, 0);
});

test('a tail that is not read is bounded in characters as well', async () => {
  const tail = new TraceTail(new VirtualClock());
  for (let i = 0; i < 900; i++) tail.push('x'.repeat(10_000));
  tail.end('full');
  const text = (await Array.fromAsync(tail)).join('');
  assert.ok(text.length < 2 * 1024 * 1024, String(text.length));
  assert.match(text, /event: lost\ndata: \d+\n\n/);
});
