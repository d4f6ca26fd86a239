import assert from 'node:assert/strict';
import test from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Reason } from '#wire/reason-codes';
import type { Ban } from '#access/banned';
import { startBroker, type TestBroker } from '#test/broker';
import { banVerbs } from './ban-verbs.ts';

const enableBan = { enableBan: true };
const clientBan = (who: string, until?: number): Ban => ({ as: 'client_id', who, until });

async function until(what: string, look: () => boolean): Promise<void> {
  const endMs = performance.now() + 10_000;
  while (!look()) {
    assert.ok(performance.now() < endMs, `Cannot see ${what}`);
    await nextTurn();
  }
}

/** The code that a CONNECT is answered with. */
async function codeFor(
  broker: TestBroker,
  clientId: string,
  rest: { username?: string; worker?: number } = {},
): Promise<number> {
  const { worker, ...options } = rest;
  const client = await broker.open(5, worker);
  return (await client.connect({ clientId, ...options })).reasonCode;
}

test('a worker refuses who is on the list, until it is not', async () => {
  await using broker = await startBroker({ workers: 0, zone: enableBan });
  const { setBans, changeBans } = banVerbs({ broker: broker.broker });
  setBans([clientBan('a'), { as: 'username', who: 'eve', until: undefined }]);
  assert.equal(await codeFor(broker, 'a'), Reason.banned);
  assert.equal(await codeFor(broker, 'b', { username: 'eve' }), Reason.banned);
  assert.equal(await codeFor(broker, 'b'), 0);
  changeBans([clientBan('b2')], [clientBan('a')]);
  assert.equal(await codeFor(broker, 'a'), 0);
  assert.equal(await codeFor(broker, 'b2'), Reason.banned);
  setBans([]);
  assert.equal(await codeFor(broker, 'b2'), 0);
  assert.equal(await codeFor(broker, 'b', { username: 'eve' }), 0);
});

test('while the list is empty nobody is asked at CONNECT', async () => {
  await using broker = await startBroker({ workers: 0, zone: enableBan });
  const { hooks } = broker.broker;
  const { setBans, changeBans } = banVerbs({ broker: broker.broker });
  assert.equal(hooks.has('client.check_ban'), false);
  setBans([clientBan('a')]);
  assert.equal(hooks.has('client.check_ban'), true);
  changeBans([], [clientBan('a')]);
  assert.equal(hooks.has('client.check_ban'), false);
  changeBans([clientBan('a')], []);
  changeBans([clientBan('b')], []);
  assert.equal(hooks.has('client.check_ban'), true);
});

test('a ban ends those that it concerns and nobody else, and is counted', async () => {
  await using broker = await startBroker({ workers: 0, zone: enableBan });
  const { changeBans } = banVerbs({ broker: broker.broker });
  const ends: string[] = [];
  broker.hook('client.disconnected', ({ clientId }, reason) => {
    ends.push(`${clientId} ${reason}`);
  });
  const a = await broker.connect({ clientId: 'a' });
  const a3 = await broker.connect({ clientId: 'a3', version: 4, username: 'eve' });
  const b = await broker.connect({ clientId: 'b' });
  assert.equal(changeBans([clientBan('a'), clientBan('absent')], []), 1);
  await a.expectDisconnected(Reason.administrativeAction);
  assert.equal(changeBans([{ as: 'username', who: 'eve', until: undefined }], []), 1);
  await a3.expectDisconnected();
  await b.expectNothing();
  assert.deepEqual(ends, ['a banned', 'a3 banned']);
  assert.equal(
    changeBans([{ as: 'ip_address', who: '::ffff:127.0.0.0/104', until: undefined }], []),
    1,
  );
  await b.expectDisconnected(Reason.administrativeAction);
});

test('a ban ends nobody where the zone has no bans, or when it is over', async () => {
  await using open = await startBroker({ workers: 0, zone: { enableBan: false } });
  const client = await open.connect({ clientId: 'a' });
  assert.equal(banVerbs({ broker: open.broker }).changeBans([clientBan('a')], []), 0);
  await client.expectNothing();
  await using broker = await startBroker({ workers: 0, zone: enableBan });
  const { changeBans } = banVerbs({ broker: broker.broker });
  const other = await broker.connect({ clientId: 'a' });
  const nowSeconds = broker.broker.core.clock.nowMs() / 1000;
  assert.equal(changeBans([clientBan('a', nowSeconds)], []), 0);
  await other.expectNothing();
  changeBans([clientBan('b', nowSeconds + 60)], []);
  assert.equal(await codeFor(broker, 'b'), Reason.banned);
  broker.advance(60_000);
  assert.equal(await codeFor(broker, 'b'), 0);
});

test('what is upheld is known to a worker that takes the place of a dead one', async () => {
  await using broker = await startBroker({ workers: 2, zone: enableBan });
  const asking = broker.workers?.workers.asking;
  assert.ok(asking);
  const bans: Ban[] = [clientBan('early')];
  await asking.uphold('setBans', () => [bans]);
  bans.push(clientBan('late'));
  await asking.everywhere('changeBans', [[clientBan('late')], []]);
  for (const worker of [0, 1]) {
    for (const who of ['early', 'late']) {
      assert.equal(await codeFor(broker, who, { worker }), Reason.banned, `${who} at ${worker}`);
    }
    broker.kill(worker);
    await until('a successor that has the list', () => {
      const successor = broker.brokers[worker];
      return broker.isRecovered && successor?.hooks.has('client.check_ban') === true;
    });
    for (const who of ['early', 'late']) {
      const again = `${who} at the successor of ${worker}`;
      assert.equal(await codeFor(broker, who, { worker }), Reason.banned, again);
    }
    assert.equal(await codeFor(broker, 'good', { worker }), 0);
  }
});
