import assert from 'node:assert/strict';
import test from 'node:test';
import { listenerSettings, TriedListener } from './listener-fixture.ts';
import { probePorts } from './probe-ports.ts';

/** A port that was free a moment ago. */
async function freePort(): Promise<number> {
  await using tried = await TriedListener.open(listenerSettings('tcp'));
  return tried.port;
}

test('a probe of free addresses leaves them free', async () => {
  const port = await freePort();
  const settings = listenerSettings('tcp', { port });
  await probePorts({ listeners: [settings, listenerSettings('ws')] });
  await using tried = await TriedListener.open(settings);
  assert.equal(tried.port, port);
});

test('a probe finds an address in use, also where its user would share it', async () => {
  await using user = await TriedListener.open(listenerSettings('tcp'), { reusePort: true });
  const { port } = user;
  const settings = listenerSettings('tcp', { port, listenOn: `127.0.0.1:${port}` });
  await assert.rejects(probePorts({ listeners: [listenerSettings('ws'), settings] }), {
    message:
      `Cannot listen on "127.0.0.1:${port}" for listener.tcp.external: it is in use, ` +
      'stop what uses it or choose another with --set listener.tcp.external=127.0.0.1:<port>',
  });
  await using neighbour = await TriedListener.open(settings, { reusePort: true });
  assert.equal(neighbour.port, port, 'the user was not disturbed');
});

test('a probe finds two listeners with one address, and frees it', async () => {
  const port = await freePort();
  const listenOn = `127.0.0.1:${port}`;
  const [tcp, ws] = [
    listenerSettings('tcp', { port, listenOn }),
    listenerSettings('ws', { port, listenOn }),
  ];
  await assert.rejects(
    probePorts({ listeners: [tcp, ws] }),
    /for listener\.ws\.external: it is in use/,
  );
  await probePorts({ listeners: [tcp] });
});

test('a probe finds an address that the machine does not have', async () => {
  const settings = listenerSettings('tcp', { host: '192.0.2.1', listenOn: '192.0.2.1:0' });
  await assert.rejects(probePorts({ listeners: [settings] }), /this machine has no such address/);
});
