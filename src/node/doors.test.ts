import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import test from 'node:test';
import { nullLogger } from '#base/log';
import { loadConfig } from '#config/load';
import { Doors } from './doors.ts';

const sets = ['listener.tcp.external=127.0.0.1:0', 'listener.tcp.internal=127.0.0.1:0'];
const { settings } = loadConfig({ sets });

async function opened(doors: Doors): Promise<readonly number[]> {
  return doors.open(settings, { log: nullLogger, accept: () => undefined });
}

async function isOpen(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    // Refused.
    return false;
  } finally {
    socket.destroy();
  }
}

async function closeAll({ all }: Doors): Promise<void> {
  for (const listener of all) await listener[Symbol.asyncDispose]();
}

test('doors close and open again by their place in the settings', async () => {
  const doors = new Doors();
  const [first = 0, second = 0] = await opened(doors);
  await doors.keepClosed([1]);
  assert.deepEqual([await isOpen(first), await isOpen(second)], [true, false]);
  assert.deepEqual(
    doors.reports().map(({ isClosed }) => isClosed),
    [undefined, true],
  );
  await doors.keepClosed([0]);
  const [, again = 0] = doors.all.map(({ boundPort }) => boundPort);
  assert.deepEqual([await isOpen(first), await isOpen(again)], [false, true]);
  await closeAll(doors);
});

test('a door that is to be kept closed is not opened', async () => {
  const doors = new Doors();
  await doors.keepClosed([0]);
  const [first, second = 0] = await opened(doors);
  assert.equal(first, 0);
  assert.equal(await isOpen(second), true);
  await closeAll(doors);
});
