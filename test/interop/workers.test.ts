// A node of three workers in the real process, seen by clients that we did not write: nobody can tell
// in which worker he is, and everything is as with one.

import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import test from 'node:test';
import { BrokerProcess, type Kind, onlyListeners, Place } from './broker-process.ts';
import { OutsideClient, urlOf } from './outside-client.ts';
import { Program, runToEnd, toolOf } from './outside-program.ts';

const workers = 3;
const pub = toolOf('mosquitto_pub');
const sub = toolOf('mosquitto_sub');
const sessionTakenOver = 0x8e;
const serverShuttingDown = 0x8b;
const stopMsMax = 20_000;
/** So many that the kernel puts them into more than one worker, but for one run in 3 ** 11. */
const crowd = 12;

function start(kinds: readonly Kind[] = ['tcp'], place?: Place): Promise<BrokerProcess> {
  const sets = [...onlyListeners(...kinds), `node.workers=${workers}`];
  return BrokerProcess.start(sets, place && { place });
}

function tcpOf(broker: BrokerProcess): string {
  return urlOf('tcp', broker.port('tcp'));
}

/** Clients that are spread over the workers by the kernel. */
async function openCrowd(
  owned: AsyncDisposableStack,
  url: string,
  name: string,
): Promise<OutsideClient[]> {
  const names = Array.from({ length: crowd }, (_, i) => `${name}-${i}`);
  return await Promise.all(
    names.map(async (clientId) => owned.use(await OutsideClient.open(url, { clientId }))),
  );
}

test('clients of all transports hear each other, whichever workers they are in', async () => {
  await using broker = await start(['tcp', 'ws', 'ssl']);
  await using owned = new AsyncDisposableStack();
  const subscribers = [
    ...(await openCrowd(owned, tcpOf(broker), 'tcp')),
    ...(await openCrowd(owned, urlOf('ws', broker.port('ws')), 'ws')),
  ];
  for (const client of subscribers) await client.subscribe('to/#', { qos: 2 });
  const secure = owned.use(
    await OutsideClient.open(urlOf('ssl', broker.port('ssl')), { rejectUnauthorized: false }),
  );
  await secure.publish('to/0', 'zero');
  for (const qos of [1, 2] as const) await secure.publish(`to/${qos}`, `of ${qos}`, { qos });
  for (const client of subscribers) {
    const got = (await client.payloads(3)).toSorted();
    assert.deepEqual(got, ['of 1', 'of 2', 'zero']);
  }
});

test('mosquitto clients hear each other over tcp and tls', {
  skip: pub.skip || sub.skip,
}, async () => {
  await using broker = await start(['tcp', 'ssl']);
  const secure = ['-p', String(broker.port('ssl')), '--cafile', broker.place.certFile];
  const plain = ['-p', String(broker.port('tcp'))];
  await using owned = new AsyncDisposableStack();
  const ready = ['-h', '127.0.0.1', '-t', 'ready', '-q', '1', '-r', '-m', 'ready'];
  assert.equal((await runToEnd(pub.path, [...plain, ...ready])).code, 0);
  // The marker comes when both are subscribed.
  const wait = ['-h', '127.0.0.1', '-t', 'm/#', '-t', 'ready', '-q', '2', '-C', '4'];
  const listeners = [plain, secure, plain, secure, plain, secure].map((where) =>
    owned.use(new Program(sub.path, [...where, ...wait])),
  );
  for (const { lines } of listeners) await lines.take('the marker', (line) => line === 'ready');
  for (const where of [plain, secure, plain]) {
    const said = ['-h', '127.0.0.1', '-t', 'm/x', '-q', '2', '-m', 'word'];
    const { code, err } = await runToEnd(pub.path, [...where, ...said]);
    assert.equal(code, 0, err);
  }
  for (const listener of listeners) {
    const { code, out } = await listener.outcome();
    assert.equal(code, 0);
    assert.equal(out.split('\n').filter((line) => line === 'word').length, 3);
  }
});

test('a persistent session is resumed in any worker with all that came meanwhile', async () => {
  await using broker = await start();
  const url = tcpOf(broker);
  const options = { clientId: 'keeper', clean: false, properties: { sessionExpiryInterval: 600 } };
  const first = await OutsideClient.open(url, options);
  await first.subscribe('k/#', { qos: 2 });
  await first.leave();
  await using publisher = await OutsideClient.open(url);
  for (let round = 0; round < crowd; round++) {
    const sent = Array.from({ length: 5 }, (_, i) => `${round}.${i}`);
    for (const text of sent) await publisher.publish('k/x', text, { qos: 2 });
    const again = await OutsideClient.open(url, options);
    assert.equal(again.connack.sessionPresent, true);
    assert.deepEqual(await again.payloads(5), sent);
    await again.leave();
  }
});

test('what is retained in one worker is found in every other one at once', async () => {
  await using broker = await start();
  const url = tcpOf(broker);
  for (let round = 0; round < crowd; round++) {
    await using publisher = await OutsideClient.open(url);
    await publisher.publish('r/x', `value ${round}`, { qos: 1, retain: true });
    await using reader = await OutsideClient.open(url);
    await reader.subscribe('r/#', { qos: 1 });
    assert.deepEqual(await reader.payloads(1), [`value ${round}`]);
  }
});

test('the members of a shared subscription get each message once, together', async () => {
  await using broker = await start();
  await using owned = new AsyncDisposableStack();
  const members = await openCrowd(owned, tcpOf(broker), 'member');
  for (const member of members) await member.subscribe('$share/g/s/#', { qos: 1 });
  const publishers = await openCrowd(owned, tcpOf(broker), 'publisher');
  const sent: string[] = [];
  for (const [i, publisher] of publishers.entries()) {
    for (let n = 0; n < crowd; n++) {
      sent.push(`${i}.${n}`);
      await publisher.publish('s/x', `${i}.${n}`, { qos: 1 });
    }
  }
  // Behind it nothing of the group is under way to anybody.
  for (const member of members) await member.subscribe('end', { qos: 1 });
  await publishers[0]?.publish('end', 'end', { qos: 1 });
  const got: string[] = [];
  for (const { messages } of members) {
    await messages.take('the end', ({ topic }) => topic === 'end');
    got.push(...messages.waiting.map(({ payload }) => payload.toString()));
  }
  assert.deepEqual(got.toSorted(), sent.toSorted());
});

test('a will is published to every worker when its client is lost', async () => {
  await using broker = await start();
  await using owned = new AsyncDisposableStack();
  const mourners = await openCrowd(owned, tcpOf(broker), 'mourner');
  for (const mourner of mourners) await mourner.subscribe('w/#', { qos: 1 });
  const will = { topic: 'w/x', payload: Buffer.from('gone'), qos: 1 as const, retain: false };
  const lost = owned.use(await OutsideClient.open(tcpOf(broker), { clientId: 'lost', will }));
  lost.lose();
  for (const mourner of mourners) assert.deepEqual(await mourner.payloads(1), ['gone']);
});

test('a client that comes a second time takes over, whichever worker it comes to', async () => {
  await using broker = await start();
  await using owned = new AsyncDisposableStack();
  let present = owned.use(await OutsideClient.open(tcpOf(broker), { clientId: 'twice' }));
  for (let round = 0; round < crowd; round++) {
    const next = owned.use(await OutsideClient.open(tcpOf(broker), { clientId: 'twice' }));
    assert.equal((await present.ended()).disconnect?.reasonCode, sessionTakenOver);
    present = next;
  }
  await present.publish('alive', 'yes', { qos: 1 });
});

test('a second broker on the same port is refused, though workers share it', async () => {
  await using broker = await start();
  using place = new Place();
  const port = broker.port('tcp');
  const refusals: string[] = [];
  for (const count of [0, workers]) {
    const sets = [...onlyListeners(), `listener.tcp.external=127.0.0.1:${port}`];
    const outcome = await place.command('foreground', [...sets, `node.workers=${count}`]);
    assert.equal(outcome.code, 1, outcome.out);
    refusals.push(outcome.err);
  }
  assert.match(refusals[0] ?? '', new RegExp(`127\\.0\\.0\\.1:${port}`));
  assert.equal(refusals[1], refusals[0]);
});

test('a port that a stranger has is refused with the same words', async () => {
  const stranger = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => stranger.once('listening', resolve));
  const { port } = stranger.address() as { port: number };
  using place = new Place();
  try {
    const refusals: string[] = [];
    for (const count of [0, workers]) {
      const sets = [...onlyListeners(), `listener.tcp.external=127.0.0.1:${port}`];
      const outcome = await place.command('foreground', [...sets, `node.workers=${count}`]);
      assert.equal(outcome.code, 1, outcome.out);
      refusals.push(outcome.err);
    }
    assert.equal(refusals[1], refusals[0]);
  } finally {
    stranger.close();
  }
});

test('a stop tells every client in every worker, and the next process finds the sessions', async () => {
  using place = new Place();
  const options = { clean: false, properties: { sessionExpiryInterval: 600 } };
  const names = Array.from({ length: crowd }, (_, i) => `session-${i}`);
  {
    await using broker = await start(['tcp'], place);
    await using owned = new AsyncDisposableStack();
    const clients: OutsideClient[] = [];
    for (const clientId of names) {
      const client = owned.use(await OutsideClient.open(tcpOf(broker), { clientId, ...options }));
      await client.subscribe(`of/${clientId}`, { qos: 1 });
      clients.push(client);
    }
    const { code, err } = await broker.stop();
    assert.deepEqual([code, err], [0, '']);
    for (const client of clients) {
      assert.equal((await client.ended()).disconnect?.reasonCode, serverShuttingDown);
    }
  }
  await using broker = await start(['tcp'], place);
  await using publisher = await OutsideClient.open(tcpOf(broker));
  for (const clientId of names) await publisher.publish(`of/${clientId}`, clientId, { qos: 1 });
  for (const clientId of names) {
    await using client = await OutsideClient.open(tcpOf(broker), { clientId, ...options });
    assert.equal(client.connack.sessionPresent, true);
    assert.deepEqual(await client.payloads(1), [clientId]);
  }
});

test('a stop in the middle of publishes keeps what was acknowledged', async () => {
  using place = new Place();
  const options = { clientId: 'keeper', clean: false, properties: { sessionExpiryInterval: 600 } };
  const acknowledged: string[] = [];
  {
    await using broker = await start(['tcp'], place);
    const keeper = await OutsideClient.open(tcpOf(broker), options);
    await keeper.subscribe('p/#', { qos: 1 });
    await keeper.leave();
    await using owned = new AsyncDisposableStack();
    const publishers = await openCrowd(owned, tcpOf(broker), 'publisher');
    const running = publishers.map(async (publisher, i) => {
      // MQTT.js does not tell what became of a publish whose connection has ended.
      const ended = publisher.ended(stopMsMax).then(() => true);
      for (let n = 0; ; n++) {
        const done = publisher.publish('p/x', `${i}.${n}`, { qos: 1 }).then(() => false);
        if (await Promise.race([ended, done]).catch(() => true)) return;
        acknowledged.push(`${i}.${n}`);
        if (acknowledged.length === 50) broker.program.signal('SIGTERM');
      }
    });
    await Promise.all(running);
    const { code, err } = await broker.program.outcome();
    assert.deepEqual([code, err], [0, '']);
  }
  await using broker = await start(['tcp'], place);
  await using keeper = await OutsideClient.open(tcpOf(broker), options);
  const got = new Set(await keeper.payloads(acknowledged.length));
  await keeper.publish('p/x', 'end', { qos: 1 });
  await keeper.messages.take('the end', ({ payload }) => {
    got.add(payload.toString());
    return payload.toString() === 'end';
  });
  assert.deepEqual(
    acknowledged.filter((text) => !got.has(text)),
    [],
  );
});
