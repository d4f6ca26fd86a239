import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import test from 'node:test';
import { systemClock } from '#base/clock';
import { type Carrier, type CarrierHome, reasonOf } from './carrier.ts';
import { Deadlines } from './deadlines.ts';
import { RecordingLog, RecordingSink, until } from './listener-fixture.ts';
import { adoptTcp } from './tcp.ts';

test('a socket whose handle cannot be had is read by events', async () => {
  const gone: Carrier[] = [];
  const home: CarrierHome = {
    clock: systemClock,
    log: new RecordingLog(),
    rateLimit: undefined,
    sendTimeoutClose: true,
    sendDeadlines: new Deadlines(systemClock, 1000, (late) => late.overdue()),
    gone: (carrier) => gone.push(carrier),
  };
  const server = createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [accepted] = (await once(server, 'connection')) as [Socket];
  const inside = accepted as unknown as { _handle: { useUserBuffer: unknown } };
  inside._handle.useUserBuffer = undefined;
  const peer = { address: '127.0.0.1', port: 1, localAddress: '127.0.0.1', localPort: 2 };
  const transport = adoptTcp(accepted, peer, home);
  const sink = new RecordingSink(transport);
  transport.begin(sink, Buffer.from('early '));
  client.end('and late');
  client.resume();
  await until('the end', () => sink.closedFor !== undefined);
  assert.equal(sink.bytes.toString(), 'early and late');
  assert.equal(gone.length, 1);
  server.close();
  await once(server, 'close');
});

test('socket errors are told in one lower-case word', () => {
  const named = (code: string): Error => Object.assign(new Error(code), { code });
  assert.equal(reasonOf(named('ECONNRESET')), 'econnreset');
  assert.equal(reasonOf(named('ETIMEDOUT')), 'etimedout');
  assert.equal(reasonOf(named('ERR_SSL_WRONG_VERSION_NUMBER')), 'tls_error');
  assert.equal(reasonOf(named('ERR_TLS_HANDSHAKE_TIMEOUT')), 'handshake_timeout');
  assert.equal(reasonOf(named('ERR_INVALID_STATE')), 'socket_error');
  assert.equal(reasonOf(new Error('nameless')), 'socket_error');
  assert.equal(reasonOf('text'), 'socket_error');
});
