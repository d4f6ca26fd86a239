// Rules on whole nodes: what they count, that they end, that they stay, and that they cost nothing when they
// are gone.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import type { Managed } from '#test/managed';
import { Client, makeRule, ruleNow, startRules, toTopic } from './rules-fixture.ts';

const nothing = { name: 'do_nothing', params: {} };

/** Asks until it is so: what is fire-and-forget is counted a moment later. */
async function until(look: () => Promise<boolean>, what: string): Promise<void> {
  const deadline = AbortSignal.timeout(10_000);
  while (!(await look())) {
    if (deadline.aborted) assert.fail(`Waited 10 s for ${what}`);
  }
}

for (const workers of [0, 2]) {
  const where = `(workers: ${workers})`;

  test(`what rules and actions count is exact under load ${where}`, async () => {
    await using node = await startRules({ workers });
    const [clients, each] = [4, 250];
    const counted = await makeRule(node, `SELECT * FROM "load/#" WHERE payload.n > 0`, [
      nothing,
      { name: 'republish', params: { target_topic: 'a/${payload.nothing}' } },
      toTopic('answer/${topic}'),
    ]);
    const all = await Promise.all(
      Array.from({ length: clients }, (_, i) => Client.open(node, { clientId: `load-${i}` })),
    );
    for (const [i, { mqtt }] of all.entries()) {
      const sent = Array.from({ length: each }, (_, n) =>
        mqtt.publishAsync(`load/${i}`, `{"n":${n}}`, { qos: n % 2 === 0 ? 1 : 0 }),
      );
      await Promise.all(sent);
      await mqtt.publishAsync(`last/${i}`, '', { qos: 1 });
    }
    const wanted = clients * (each - 1);
    await until(async () => {
      const { actions } = await ruleNow(node, counted.id);
      return actions[2]?.metrics[0]?.success === wanted;
    }, 'all that was republished');
    const { metrics, actions } = await ruleNow(node, counted.id);
    assert.equal(metrics[0]?.matched, wanted);
    assert.deepEqual(
      actions.map((action) => [action.metrics[0]?.success, action.metrics[0]?.failed]),
      [
        [wanted, 0],
        [0, wanted],
        [wanted, 0],
      ],
    );
    const { body } = await node.get('/nodes/broker@127.0.0.1/metrics');
    const totals = body.data as Readonly<Record<string, number>>;
    assert.equal(totals['rules/matched'], wanted);
    assert.equal(totals['actions/success'], 2 * wanted);
    assert.equal(totals['actions/failure'], wanted);
    await Promise.all(all.map((client) => client[Symbol.asyncDispose]()));
  });

  test(`rules that answer each other end, and say so ${where}`, async () => {
    await using node = await startRules({ workers });
    const one = await makeRule(node, `SELECT * FROM "loop/a"`, [toTopic('loop/b')]);
    const two = await makeRule(node, `SELECT * FROM "loop/b"`, [toTopic('loop/a')]);
    const itself = await makeRule(node, `SELECT * FROM "loop/self"`, [toTopic('loop/self')]);
    await using reader = await Client.reading(node, 'loop/#');
    await reader.mqtt.publishAsync('loop/a', 'x', { qos: 1 });
    await reader.mqtt.publishAsync('loop/self', 'x', { qos: 1 });
    // Eight of each, behind the one that began it.
    await reader.packets(2 * 9);
    const failures = async (id: string): Promise<number> =>
      (await ruleNow(node, id)).actions[0]?.metrics[0]?.failed ?? 0;
    await until(
      async () => (await failures(one.id)) === 1 && (await failures(itself.id)) === 1,
      'the end of both',
    );
    assert.equal(await failures(two.id), 0);
    const told = node.logged.filter((line) => line.includes('rule.action_failed'));
    assert.equal(told.length, 2);
    const text = told.find((line) => line.includes(one.id)) ?? '';
    assert.match(text, /Cannot republish \\"loop\/a\\" to \\"loop\/b\\"/);
  });

  test(`a rule about deliveries that publishes to whom it is delivered ends too ${where}`, async () => {
    await using node = await startRules({ workers });
    const { id } = await makeRule(node, `SELECT topic FROM "message.acked" WHERE topic = 'd'`, [
      toTopic('d', { target_qos: 1 }),
    ]);
    // In the other worker, and of a session that the store has.
    await using reader = await Client.open(node, {
      clientId: 'd',
      properties: { sessionExpiryInterval: 60 },
    });
    await using writer = await Client.open(node, { clientId: 'e' });
    await reader.mqtt.subscribeAsync('d', { qos: 1 });
    await writer.mqtt.publishAsync('d', 'x', { qos: 1 });
    await reader.packets(9);
    await until(
      async () => (await ruleNow(node, id)).actions[0]?.metrics[0]?.failed === 1,
      'the end of it',
    );
  });

  test(`a disabled rule does nothing, and goes on counting when it is enabled ${where}`, async () => {
    await using node = await startRules({ workers });
    const { id, actions } = await makeRule(node, `SELECT * FROM "t"`, [nothing]);
    await using client = await Client.open(node);
    const matched = async (): Promise<number> => {
      await client.mqtt.publishAsync('t', 'x', { qos: 1 });
      return (await ruleNow(node, id)).metrics[0]?.matched ?? -1;
    };
    assert.equal(await matched(), 1);
    await node.put(`/rules/${id}`, { enabled: false });
    assert.equal(await matched(), 1);
    await node.put(`/rules/${id}`, { enabled: true, description: 'again' });
    assert.equal(await matched(), 2);
    await node.put(`/rules/${id}`, { rawsql: `SELECT topic FROM "t" WHERE payload = 'y'` });
    assert.equal(await matched(), 2);
    await node.put(`/rules/${id}`, { rawsql: `SELECT topic FROM "t" WHERE payload = 'x'` });
    assert.equal(await matched(), 3);
    const now = await ruleNow(node, id);
    assert.equal(now.actions[0]?.id, actions[0]?.id);
    assert.equal(now.actions[0]?.metrics[0]?.success, 3);
  });

  test(`rules outlive the node, and begin to count anew ${where}`, async () => {
    const dir = mkdtempSync(join(tmpdir(), 'broker-rules-'));
    try {
      const made = await keptOver(dir, workers);
      await using node = await startRules({ workers, dir });
      const { body } = await node.get('/rules');
      const found = body.data as readonly { readonly id: string; readonly enabled: boolean }[];
      assert.deepEqual(
        found.map(({ id, enabled }) => [id, enabled]),
        made.map((id, i) => [id, i !== 1]),
      );
      await using reader = await Client.reading(node, 'out');
      await reader.mqtt.publishAsync('t/1', 'back', { qos: 1 });
      assert.deepEqual(await reader.json(1), [{ payload: 'back' }]);
      assert.equal((await ruleNow(node, made[0] as string)).metrics[0]?.matched, 1);
      assert.equal((await ruleNow(node, made[1] as string)).metrics[0]?.matched, 0);
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  });

  test(`unloaded, the engine sees nothing and holds nothing; loaded, it is back ${where}`, async () => {
    await using node = await startRules({ workers });
    const { id } = await makeRule(node, `SELECT payload FROM "t", "client.connected"`, [
      toTopic('out'),
    ]);
    await using reader = await Client.reading(node, 'out');
    await node.put('/nodes/broker@127.0.0.1/plugins/broker_rule_engine/unload');
    await reader.mqtt.publishAsync('t', 'unseen', { qos: 1 });
    await node.put('/nodes/broker@127.0.0.1/plugins/broker_rule_engine/load');
    await reader.mqtt.publishAsync('t', 'seen', { qos: 1 });
    assert.deepEqual(await reader.json(1), [{ payload: 'seen' }]);
    assert.equal((await ruleNow(node, id)).metrics[0]?.matched, 1);
  });

  test(`$SYS is looked at only where it is wanted ${where}`, async () => {
    for (const ignored of ['on', 'off']) {
      await using node = await startRules({
        workers,
        settings: { 'rule_engine.ignore_sys_message': ignored, 'broker.sys_interval': '1s' },
      });
      const sys = await makeRule(node, `SELECT topic FROM "$SYS/#", "message.dropped"`, [nothing]);
      const other = await makeRule(node, `SELECT topic FROM "message.publish"`, [nothing]);
      await using reader = await Client.reading(node, '$SYS/#');
      // Not only what was retained before there were rules.
      await until(async () => (await reader.packets(1))[0]?.retain === false, 'a message to $SYS');
      await reader.mqtt.publishAsync('t', 'x', { qos: 1 });
      const [{ metrics: ofSys }, { metrics: ofOther }] = await Promise.all([
        ruleNow(node, sys.id),
        ruleNow(node, other.id),
      ]);
      if (ignored === 'off') assert.ok((ofSys[0]?.matched ?? 0) > 1);
      // That nobody subscribes to `t` is all that there was.
      else assert.deepEqual([ofSys[0]?.matched, ofOther[0]?.matched], [1, 1]);
    }
  });
}

/** A node that has made three rules, the second disabled, and has ended. */
async function keptOver(dir: string, workers: number): Promise<readonly string[]> {
  await using node = await startRules({ workers, dir });
  const sql = `SELECT payload FROM "t/#" WHERE topic = 't/1'`;
  const first = await makeRule(node, sql, [toTopic('out')], { description: 'kept' });
  const second = await makeRule(node, sql, [nothing]);
  const third = await makeRule(node, sql, [nothing], { name: 'older', for: 'message.publish' });
  await node.put(`/rules/${second.id}`, { enabled: false });
  await using client = await Client.open(node as Managed);
  await client.mqtt.publishAsync('t/1', 'x', { qos: 1 });
  return [first.id, second.id, third.id];
}

test('bytes that are no text go through a rule as they are', async () => {
  await using node = await startRules();
  await makeRule(node, `SELECT payload FROM "t"`, [
    { name: 'republish', params: { target_topic: 'out', target_qos: -1, target_retain: 0 } },
  ]);
  await using reader = await Client.reading(node, 'out');
  const bytes = Buffer.from([0, 0xff, 0xfe, 0x80, 65]);
  await reader.mqtt.publishAsync('t', bytes, { qos: 1, retain: true });
  const [packet] = await reader.packets(1);
  assert.ok(bytes.equals(packet?.payload as Buffer));
  assert.deepEqual([packet?.qos, packet?.retain], [1, false]);
});
