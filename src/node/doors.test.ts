import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import test from 'node:test';
import { nullLogger } from '#base/log';
import { loadConfig } from '#config/load';
import type { Settings } from '#config/settings';
import { Doors } from './doors.ts';

const sets = ['listener.tcp.external=127.0.0.1:0', 'listener.tcp.internal=127.0.0.1:0'];
const { settings } = loadConfig({ sets });

async function opened(doors: Doors, wanted: Settings = settings): Promise<readonly number[]> {
  return doors.open(wanted, { log: nullLogger, accept: () => undefined });
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

/** Settings with a port that somebody else has until he frees it. */
async function wantingTakenPort(): Promise<{ wanted: Settings; free: () => Promise<void> }> {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const { settings: wanted } = loadConfig({ sets: [`listener.tcp.external=127.0.0.1:${port}`] });
  const free = async (): Promise<void> => {
    other.close();
    await once(other, 'close');
  };
  return { wanted, free };
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

test('doors that are told to close while they open are closed in the end', async () => {
  const doors = new Doors();
  const opening = opened(doors);
  await doors.keepClosed([1]);
  await opening;
  assert.deepEqual(
    doors.reports().map(({ isClosed }) => isClosed),
    [undefined, true],
  );
  await closeAll(doors);
});

test('a door that is told twice at once to open is opened once', async () => {
  const { wanted, free } = await wantingTakenPort();
  await free();
  const doors = new Doors();
  await doors.keepClosed([0]);
  await opened(doors, wanted);
  await Promise.all([doors.keepClosed([]), doors.keepClosed([])]);
  await closeAll(doors);
});

test('doors obey again when they could not be opened once', async () => {
  const { wanted, free } = await wantingTakenPort();
  const doors = new Doors();
  await assert.rejects(opened(doors, wanted));
  await free();
  assert.deepEqual(await opened(doors, wanted), [wanted.listeners[0]?.port]);
  await closeAll(doors);
});
