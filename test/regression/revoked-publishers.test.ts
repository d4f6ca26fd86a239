// A publisher whose right is taken away: what it left behind as retained messages is not handed out any
// more (the class of CVE-2018-12546), and its will is not published. What nobody was asked about stays.

import assert from 'node:assert/strict';
import test from 'node:test';
import { Message } from '#core/message';
import { type Overrides, startBroker, type TestBroker } from '#test/broker';
import { settled, until } from './event-turns.ts';
import { Lives } from './lives.ts';
import { controlled, lasting, receivedBy, recheck, Rules } from './revocable.ts';

async function retain(broker: TestBroker, topic: string, username?: string): Promise<void> {
  const writer = await broker.connect(username === undefined ? {} : { username });
  await writer.publish(topic, topic, { qos: 1, retain: true });
  await writer.disconnect();
}

async function retainedFor(broker: TestBroker, filter: string): Promise<string[]> {
  const reader = await broker.connect({ clientId: 'reader' });
  await reader.subscribe(filter);
  const seen = await receivedBy(reader);
  await reader.disconnect();
  return seen.sort();
}

for (const workers of [0, 2]) {
  test(`${workers} workers: a retained message is not handed out when its publisher may no longer publish it`, async () => {
    await using lives = new Lives({ workers, zone: controlled });
    const first = await lives.start();
    const rules = new Rules().holdIn(first);
    await retain(first, 'a');
    await retain(first, 'b');
    assert.deepEqual(await retainedFor(first, '#'), ['a', 'b']);
    rules.forbid('publish a');
    assert.deepEqual(await retainedFor(first, '#'), ['b']);
    assert.deepEqual(await retainedFor(first, 'a'), []);
    const second = await lives.crashAndStart();
    const later = new Rules().holdIn(second);
    later.forbid('publish a');
    assert.deepEqual(await retainedFor(second, '#'), ['b'], 'after a restart');
    later.allow('publish a');
    assert.deepEqual(await retainedFor(second, '#'), ['a', 'b'], 'it was only withheld');
  });
}

test('what management, superusers and zones without access control have retained is handed out', async () => {
  await using broker = await startBroker({ workers: 0, zone: controlled });
  const rules = new Rules().holdIn(broker);
  broker.hook('client.authenticate', ({ username }) => ({
    allow: true,
    isSuperuser: username === 'root',
  }));
  const from = { clientId: 'node', username: undefined, address: '', port: 0 };
  const payload = Buffer.from('by the node');
  await broker.broker.publish(new Message('n', payload, 1, true, undefined, from, 0));
  await retain(broker, 's', 'root');
  rules.forbid('publish n', 'publish s');
  assert.deepEqual(await retainedFor(broker, '#'), ['by the node', 's']);
  await broker.flushed();
  assert.deepEqual(await retainedFor(broker, '#'), ['by the node', 's']);

  await using open = await startBroker({ zone: { enableAcl: false } });
  const none = new Rules().holdIn(open);
  await retain(open, 'a');
  none.forbid('publish a');
  assert.deepEqual(await retainedFor(open, '#'), ['a']);
});

test('where rules say nothing acl_nomatch decides about retained messages, and acl.recheck = off asks nobody', async () => {
  for (const isRechecked of [true, false]) {
    await using lives = new Lives({ workers: 0, acl: { isRechecked } });
    const first = await lives.start({ zone: { enableAcl: true, aclNomatch: 'allow' } });
    await retain(first, 'a');
    const second = await lives.crashAndStart({ zone: { enableAcl: true, aclNomatch: 'deny' } });
    second.hook('client.check_acl', (_, action) => (action === 'publish' ? 'ignore' : 'allow'));
    second.hook('message.check_retained', () => 'ignore');
    assert.deepEqual(await retainedFor(second, '#'), isRechecked ? [] : ['a']);
  }
});

test('a listener that cannot be asked about the past leaves retained messages as they are, one that fails does not', async () => {
  await using broker = await startBroker({ workers: 0, zone: controlled });
  await retain(broker, 'a');
  broker.hook('client.check_acl', () => 'allow', 'asks another machine', 1);
  const rules = new Rules().holdIn(broker);
  rules.forbid('publish a');
  assert.deepEqual(await retainedFor(broker, '#'), ['a'], 'who is asked first might allow it');
  broker.hook('message.check_retained', () => 'ignore', 'asks another machine');
  assert.deepEqual(await retainedFor(broker, '#'), []);
  broker.unhook('asks another machine');
  rules.allow('publish a');
  assert.deepEqual(await retainedFor(broker, '#'), ['a']);
  broker.hook('client.check_acl', () => 'allow', 'fails', 1);
  broker.hook('message.check_retained', () => assert.fail('on purpose'), 'fails', 1);
  assert.deepEqual(await retainedFor(broker, '#'), []);
  assert.ok(broker.takeFaults().length > 0);
});

test('a retained message is asked about by the topic that its publisher wrote, without mountpoint', async () => {
  for (const isRead of [false, true]) {
    await using lives = new Lives({ workers: 0, zone: { ...controlled, mountpoint: 'm/' } });
    let broker = await lives.start();
    broker.hook('message.publish', ({ topic }) =>
      topic === 'm/old' ? { topic: 'm/new' } : undefined,
    );
    await retain(broker, 'old');
    await retain(broker, 'plain');
    if (isRead) broker = await lives.crashAndStart();
    const asked: string[] = [];
    broker.hook('client.check_acl', () => 'allow', 'rules');
    broker.hook(
      'message.check_retained',
      ({ clientId, address }, topic) => {
        asked.push(`${clientId !== ''} ${address} ${topic}`);
        return topic === 'old' ? 'deny' : 'allow';
      },
      'rules',
    );
    assert.deepEqual(await retainedFor(broker, '#'), ['plain']);
    assert.deepEqual(asked.sort(), ['true 127.0.0.1 old', 'true 127.0.0.1 plain']);
  }
});

const will = { topic: 'will', payload: 'last words', qos: 1, retain: true } as const;

/** Whether the will of a client comes that is lost after its right may have changed. */
async function isHeard(broker: TestBroker): Promise<boolean> {
  await settled();
  return (await retainedFor(broker, 'will')).length > 0;
}

const wills: readonly (readonly [string, Overrides])[] = [
  ['one worker', { workers: 0, zone: controlled }],
  ['two workers', { workers: 2, zone: controlled }],
];
for (const [company, overrides] of wills) {
  test(`${company}: a will is not published when its client has lost the right to it`, async () => {
    for (const isSlow of [false, true]) {
      await using broker = await startBroker(overrides);
      const rules = new Rules().holdIn(broker);
      const lost = await broker.connect({ clientId: 'lost', will });
      const delayed = await lasting(broker, 'delayed', {
        will: { ...will, topic: 'will/delayed', properties: { willDelaySeconds: 10 } },
      });
      await broker.lose(delayed, 'delayed');
      rules.isSlow = isSlow;
      rules.forbid('publish will', 'publish will/delayed');
      await broker.lose(lost, 'lost');
      await until('the first decision', () => rules.told.length === 2);
      broker.advance(11_000);
      await until('both decisions', () => rules.told.length === 4);
      assert.deepEqual(rules.told.sort(), [
        'denied publish will',
        'denied publish will/delayed',
        'dropped last words',
        'dropped last words',
      ]);
      rules.allow('publish will', 'publish will/delayed');
      assert.deepEqual(await retainedFor(broker, '#'), []);
    }
  });
}

test('a will is published where nobody can tell, by superusers, and with acl.recheck = off', async () => {
  const cases: readonly (readonly [Overrides, (rules: Rules) => void, string?])[] = [
    [{}, (rules) => void (rules.isBroken = true)],
    [{}, (rules) => rules.forbid('publish will'), 'root'],
    [{ acl: { isRechecked: false } }, (rules) => rules.forbid('publish will')],
  ];
  for (const [overrides, change, username] of cases) {
    await using broker = await startBroker({ workers: 0, zone: controlled, ...overrides });
    const rules = new Rules().holdIn(broker);
    broker.hook('client.authenticate', ({ username: name }) => ({
      allow: true,
      isSuperuser: name === 'root',
    }));
    const client = await broker.connect({ clientId: 'c', will, ...(username && { username }) });
    change(rules);
    await broker.lose(client, 'c');
    rules.isBroken = false;
    rules.allow('publish will');
    assert.equal(await isHeard(broker), true);
  }
});

test('a will that a crash left is asked about by what the store knows of its client', async () => {
  for (const isForbidden of [false, true]) {
    await using lives = new Lives({ workers: 0, zone: { ...controlled, mountpoint: 'm/' } });
    const first = await lives.start();
    const properties = { willDelaySeconds: 10 };
    await lasting(first, 'c', { will: { ...will, properties } });
    const second = await lives.crashAndStart();
    const rules = new Rules().holdIn(second);
    if (isForbidden) rules.forbid('publish will');
    second.advance(11_000);
    await settled();
    await second.flushed();
    assert.deepEqual(rules.told, isForbidden ? ['dropped last words'] : []);
    const third = await lives.crashAndStart();
    third.advance(20_000);
    assert.equal(await isHeard(third), !isForbidden, 'and is not kept for another try');
  }
});

test('a client that is disconnected because of its subscription has its will asked about, too', async () => {
  await using broker = await startBroker({ workers: 0, zone: controlled });
  const rules = new Rules().holdIn(broker);
  const client = await broker.connect({ clientId: 'c', will });
  await client.subscribe('secret');
  rules.forbid('subscribe secret', 'publish will');
  assert.equal((await recheck(broker)).subscriptions, 1);
  await client.expectDisconnected(0x87);
  rules.allow('publish will');
  assert.equal(await isHeard(broker), false);
});
