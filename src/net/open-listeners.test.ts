import assert from 'node:assert/strict';
import { connect } from 'node:net';
import test from 'node:test';
import type { ListenerSettings, Settings, ZoneSettings } from '#config/settings';
import {
  listenerSettings,
  RecordingLog,
  RecordingSink,
  TempDir,
  until,
} from './listener-fixture.ts';
import { ListenerShare, listenerShareMemory } from './listener-share.ts';
import { openListeners } from './open-listeners.ts';

function settingsOf(dataDir: string, listeners: readonly ListenerSettings[]): Settings {
  const zone = { name: 'external', maxPacketBytes: 1000 } as ZoneSettings;
  return {
    node: { name: 'broker@127.0.0.1', dataDir, maxClients: 10 },
    zones: new Map([['external', zone]]),
    listeners,
  } as unknown as Settings;
}

const accept = (transport: ConstructorParameters<typeof RecordingSink>[0]): RecordingSink =>
  new RecordingSink(transport);

test('all listeners of the settings are opened, in order', async () => {
  using dir = new TempDir();
  const wanted = [listenerSettings('tcp'), listenerSettings('wss')];
  const listeners = await openListeners(settingsOf(dir.path, wanted), {
    accept,
    log: new RecordingLog(),
  });
  assert.deepEqual(
    listeners.map((one) => one.protocol),
    ['mqtt:tcp', 'mqtt:wss'],
  );
  assert.ok(listeners.every((one) => (one.boundPort ?? 0) > 0));
  for (const listener of listeners) await listener[Symbol.asyncDispose]();
});

test('no listener stays open when one cannot be opened', async () => {
  using dir = new TempDir();
  const log = new RecordingLog();
  const [first] = await openListeners(settingsOf(dir.path, [listenerSettings('tcp')]), {
    accept,
    log,
  });
  const port = first?.boundPort ?? 0;
  const wanted = [listenerSettings('ws'), listenerSettings('tcp', { port })];
  const before = log.events.length;
  await assert.rejects(
    openListeners(settingsOf(dir.path, wanted), { accept, log }),
    /Cannot listen on/,
  );
  assert.deepEqual(log.events.slice(before), ['listener.started', 'listener.stopped']);
  await first?.[Symbol.asyncDispose]();
  let refused = false;
  connect(port, '127.0.0.1').on('error', () => {
    refused = true;
  });
  await until('the port to be closed', () => refused);
});

test('listeners of a second worker are opened on the ports of the first, with its limits', async () => {
  using dir = new TempDir();
  const wanted = [listenerSettings('tcp', { maxConnections: 1 }), listenerSettings('ws')];
  const settings = settingsOf(dir.path, wanted);
  const shared = { accept, log: new RecordingLog(), reusePort: true };
  const memories = wanted.map(() => listenerShareMemory(2));
  const sharesOf = (worker: number): ListenerShare[] =>
    memories.map((memory) => new ListenerShare(memory, worker));
  const first = await openListeners(settings, shared, { shares: sharesOf(0) });
  const ports = first.map((one) => one.boundPort ?? 0);
  const second = await openListeners(settings, shared, { ports, shares: sharesOf(1) });
  assert.deepEqual(
    second.map((one) => one.boundPort),
    ports,
  );
  const closed: boolean[] = [];
  // Whichever of the two gets which: together they take one.
  for (let i = 0; i < 2; i++) {
    const socket = connect(ports[0] ?? 0, '127.0.0.1').on('close', () => closed.push(true));
    socket.on('error', () => undefined).resume();
    await new Promise((resolve) => socket.once('connect', resolve));
    await until('it to be seen', () => sharesOf(0)[0]?.connections === 1);
  }
  await until('one to be refused', () => closed.length === 1);
  for (const listener of [...first, ...second]) await listener[Symbol.asyncDispose]();
  assert.equal(sharesOf(0)[0]?.connections, 0);
});

test('a listener whose zone does not exist is refused', async () => {
  using dir = new TempDir();
  const wanted = [listenerSettings('tcp', { zone: 'nowhere' })];
  await assert.rejects(
    openListeners(settingsOf(dir.path, wanted), { accept, log: new RecordingLog() }),
    /listener\.tcp\.external\.zone names "nowhere"/,
  );
});
