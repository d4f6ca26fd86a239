import assert from 'node:assert/strict';
import test from 'node:test';
import { startBroker } from '../helpers/broker.ts';
import { until } from '../regression/event-turns.ts';
import { TracedBroker, type TraceRecord } from './trace-fixture.ts';

/** What happened, without times and ids. */
const story = (records: readonly TraceRecord[]): string[] =>
  records.map(({ event, fields: { to, reason, as, worker } }) =>
    [event.replace('message.', ''), to, as, reason, `w${worker}`]
      .filter((word) => word !== undefined)
      .join(' '),
  );
const ofMessage = ({ event }: TraceRecord): boolean => event.startsWith('message.');
/** Lines of two workers meet in the file in the order in which their batches came. */
const byWorker = (records: readonly TraceRecord[], worker: number): TraceRecord[] =>
  records.filter(({ fields }) => fields['worker'] === String(worker));

for (const qos of [1, 2] as const) {
  test(`a trace follows a QoS ${qos} message from one worker to the other`, async () => {
    await using broker = await startBroker({ workers: 2 });
    await using traced = await TracedBroker.of(broker);
    const from = await broker.connect({ clientId: 'from', worker: 0 });
    const near = await broker.connect({ clientId: 'near', worker: 0 });
    const far = await broker.connect({ clientId: 'far', worker: 1 });
    await near.subscribe('a/+', { qos });
    await far.subscribe('a/b', { qos });
    const { name } = await traced.traces.start({ by: 'topic', of: 'a/#' });
    await from.publish('a/b', 'hello "you"', { qos });
    await near.receive();
    await far.receive();
    await near.publish('other/topic', 'unseen', { qos: 0 });
    // What was acknowledged has been told when a packet behind it was answered.
    await near.expectNothing();
    await far.expectNothing();
    const records = await traced.stopped(name);
    assert.deepEqual(story(byWorker(records, 0)), [
      'received w0',
      'routed w0',
      `sent near qos${qos} w0`,
      'acked near w0',
    ]);
    assert.deepEqual(story(byWorker(records, 1)), [`sent far qos${qos} w1`, 'acked far w1']);
    const ids = new Set(records.map(({ fields }) => fields['id']));
    assert.equal(ids.size, 1);
    const [received, routed] = records.map(({ fields }) => fields);
    assert.deepEqual(
      [received?.['from'], received?.['topic'], received?.['qos'], received?.['size']],
      ['from', 'a/b', String(qos), '11'],
    );
    assert.equal(received?.['payload'], '"hello \\x22you\\x22"');
    assert.deepEqual([routed?.['clients'], routed?.['workers']], ['near', '1']);
    for (const { time } of records) assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });
}

test('a trace of a receiver shows what waits for it, what is sent and what is dropped', async () => {
  await using broker = await startBroker({ workers: 2, zone: { maxMqueueLen: 1 } });
  await using traced = await TracedBroker.of(broker);
  const from = await broker.connect({ clientId: 'from', worker: 0 });
  const slow = await broker.connect({
    clientId: 'slow',
    worker: 1,
    properties: { receiveMaximum: 1 },
  });
  await slow.subscribe('t', { qos: 1 });
  const { name } = await traced.traces.start({ by: 'client', of: 'slow', level: 'info' });
  for (const payload of ['one', 'two', 'three']) await from.publish('t', payload, { qos: 1 });
  const one = await slow.next('publish');
  await slow.expectNothing();
  slow.ack('puback', one.packetId);
  assert.deepEqual(await slow.receivePayloads(1), ['three']);
  await slow.expectNothing();
  const records = await traced.stopped(name);
  assert.deepEqual(story(records), [
    'sent slow qos1 w1',
    'queued slow w1',
    'dropped slow queue_full w1',
    'queued slow w1',
    'acked slow w1',
    'sent slow qos1 w1',
    'acked slow w1',
  ]);
  // At info no payload is shown.
  assert.ok(records.every(({ fields }) => fields['payload'] === undefined));
  const drop = records.find(({ event }) => event === 'message.dropped');
  assert.equal(drop?.level, 'warning');
  assert.equal(drop?.fields['id'], records[1]?.fields['id']);
});

test('a trace of a client shows its connections, subscriptions and denials', async () => {
  await using broker = await startBroker({ workers: 2, zone: { enableAcl: true } });
  broker.hook('client.check_acl', (_, action) => (action === 'publish' ? 'deny' : 'allow'), 'acl');
  await using traced = await TracedBroker.of(broker);
  const { name } = await traced.traces.start({ by: 'client', of: 'c', level: 'notice' });
  const client = await broker.connect({ clientId: 'c', worker: 1, username: 'u' });
  await broker.connect({ clientId: 'other', worker: 1 });
  await client.subscribe('s/#', { qos: 1 });
  await client.publish('secret/t', 'x', { qos: 1 });
  await client.unsubscribe('s/#');
  await client.disconnect();
  const records = await traced.stopped(name);
  assert.deepEqual(
    records.map(({ event, level }) => `${level} ${event}`),
    [
      'notice session.created',
      'notice client.connected',
      'notice session.subscribed',
      'warning client.denied',
      'warning message.refused',
      'notice session.unsubscribed',
      'notice session.terminated',
      'notice client.disconnected',
    ],
  );
  assert.ok(records.every(({ fields }) => (fields['client'] ?? fields['from']) === 'c'));
  assert.equal(records[1]?.fields['username'], 'u');
  assert.equal(records[2]?.fields['filter'], 's/#');
  assert.equal(records[3]?.fields['topic'], 'secret/t');
  assert.equal(records[4]?.fields['reason'], 'not_authorized');
  assert.equal(records.at(-1)?.fields['reason'], 'normal');
});

test('what nobody subscribes to, what is sent to oneself, and a repeated QoS 2 are told', async () => {
  await using broker = await startBroker({ workers: 0 });
  await using traced = await TracedBroker.of(broker);
  const client = await broker.connect({ clientId: 'c' });
  await client.subscribe('own', { noLocal: true });
  const { name } = await traced.traces.start({ by: 'client', of: 'c' });
  await client.publish('nobody', '', { qos: 0 });
  await client.publish('own', '', { qos: 0 });
  const { packetId } = client.sendPublish('own', '', { qos: 2 });
  await client.find('pubrec');
  client.sendPublish('own', '', { qos: 2, packetId, dup: true });
  await client.find('pubrec');
  const records = (await traced.stopped(name)).filter(ofMessage);
  assert.deepEqual(story(records), [
    'received w0',
    'routed w0',
    'dropped no_subscribers w0',
    'received w0',
    'routed w0',
    'dropped c no_local w0',
    'received w0',
    'routed w0',
    'dropped c no_local w0',
    'received w0',
  ]);
  assert.equal(records.at(-1)?.fields['repeated'], 'true');
});

for (const workers of [0, 2]) {
  test(`the express lane is closed while something is traced, and open behind it: ${workers} workers`, async () => {
    await using broker = await startBroker({ workers });
    await using traced = await TracedBroker.of(broker);
    const open = (): boolean[] => broker.brokers.map(({ core }) => core.express.isOpen);
    const all = (isOpen: boolean): boolean[] => broker.brokers.map(() => isOpen);
    assert.deepEqual(open(), all(true));
    const one = await traced.traces.start({ by: 'client', of: 'c' });
    const two = await traced.traces.start({ by: 'topic', of: 't' });
    assert.deepEqual(open(), all(false));
    await traced.traces.stop(one.name);
    assert.deepEqual(open(), all(false));
    await traced.traces.stop(two.name);
    assert.deepEqual(open(), all(true));
    for (const { hooks } of broker.brokers) {
      for (const list of Object.values(hooks.lists)) {
        assert.ok(list?.every(({ owner }) => owner !== 'tracer') ?? true);
      }
    }
  });
}

test('a worker that takes the place of a dead one traces what the dead one traced', async () => {
  await using broker = await startBroker({ workers: 2 });
  await using traced = await TracedBroker.of(broker);
  const { name } = await traced.traces.start({ by: 'client', of: 'c' });
  const dead = broker.brokers[1];
  broker.kill(1);
  // In a process it does not listen before that.
  await until('a successor that traces', () => {
    const [, successor] = broker.brokers;
    const isLetIn = broker.workers?.workers.registry.isDown(1) === false;
    if (!broker.isRecovered || !isLetIn) return false;
    return successor !== dead && successor?.hooks.has('message.sent') === true;
  });
  const client = await broker.connect({ clientId: 'c', worker: 1 });
  await client.publish('t', 'x', { qos: 1 });
  const records = await traced.stopped(name);
  assert.ok(
    records.some(({ event, fields }) => event === 'message.received' && fields['worker'] === '1'),
  );
});
