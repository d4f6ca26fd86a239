import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import test from 'node:test';
import { VirtualClock } from '#base/clock';
import { SlowReaders, type WatchedSocket } from './slow-readers.ts';

class FakeSocket extends EventEmitter {
  bytesWritten = 0;
  writableLength = 0;
  isDestroyed = false;

  answer(bytes: number): void {
    this.bytesWritten += bytes;
    this.writableLength += bytes;
  }

  destroy(): this {
    this.isDestroyed = true;
    this.emit('close');
    return this;
  }
}

function watched(clock: VirtualClock, ...sockets: FakeSocket[]): SlowReaders {
  const slow = new SlowReaders(clock, 1000);
  for (const socket of sockets) slow.watch(socket as unknown as WatchedSocket);
  return slow;
}

test('SlowReaders ends a connection that takes nothing while an answer waits', () => {
  const clock = new VirtualClock();
  const [stuck, idle, slowly] = [new FakeSocket(), new FakeSocket(), new FakeSocket()];
  using _slow = watched(clock, stuck, idle, slowly);
  stuck.answer(100);
  slowly.answer(100);
  for (let i = 0; i < 20; i++) {
    clock.advance(250);
    slowly.writableLength -= 1;
  }
  assert.deepEqual(
    [stuck, idle, slowly].map(({ isDestroyed }) => isDestroyed),
    [true, false, false],
  );
});

test('SlowReaders gives the whole time to each answer', () => {
  const clock = new VirtualClock();
  const socket = new FakeSocket();
  using _slow = watched(clock, socket);
  socket.answer(100);
  clock.advance(750);
  socket.writableLength = 0;
  clock.advance(250);
  socket.answer(100);
  clock.advance(1000);
  assert.equal(socket.isDestroyed, false);
  clock.advance(250);
  assert.equal(socket.isDestroyed, true);
});

test('SlowReaders leaves no timer behind', () => {
  const clock = new VirtualClock();
  watched(clock, new FakeSocket())[Symbol.dispose]();
  assert.equal(clock.timerCount, 0);
});
