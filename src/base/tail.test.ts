import assert from 'node:assert/strict';
import test from 'node:test';
import { VirtualClock } from './clock.ts';
import { serverSentEvent, Tail } from './tail.ts';

test('a tail tells at once that it is heard, then what has come, then what was lost', async () => {
  const tail = new Tail({ clock: new VirtualClock(), textsMax: 2 });
  const reader = tail[Symbol.asyncIterator]();
  assert.deepEqual((await reader.next()).value, { texts: [], lost: 0 });
  for (const text of ['a', 'b', 'c', 'd']) tail.push(text);
  assert.deepEqual((await reader.next()).value, { texts: ['a', 'b'], lost: 2 });
  tail.push('e');
  tail.end();
  tail.push('late');
  assert.deepEqual((await reader.next()).value, { texts: ['e'], lost: 0 });
  assert.equal((await reader.next()).done, true);
});

test('a tail whose reader goes lets go of its timer and says so', async () => {
  const clock = new VirtualClock();
  const tail = new Tail({ clock });
  let isGone = false;
  tail.onGone = () => void (isGone = true);
  for await (const _piece of tail) break;
  assert.ok(isGone);
  assert.equal(clock.timerCount, 0);
});

test('a tail tells of what was lost before it came', async () => {
  const tail = new Tail({ clock: new VirtualClock() });
  tail.push('a');
  tail.lose(3);
  tail.end();
  tail.lose(4);
  assert.deepEqual(await Array.fromAsync(tail), [{ texts: ['a'], lost: 3 }]);
});

test('a tail that is abandoned has nothing more to read', async () => {
  const tail = new Tail({ clock: new VirtualClock() });
  tail.push('a');
  tail.abandon();
  assert.deepEqual(await Array.fromAsync(tail), [{ texts: [], lost: 0 }]);
});

test('a server-sent event has a name and one line of data', () => {
  assert.equal(serverSentEvent('line', 'a'), 'event: line\ndata: a\n\n');
});
