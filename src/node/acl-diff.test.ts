import assert from 'node:assert/strict';
import test from 'node:test';
import type { Core } from '#core/context';
import { parseAcl } from '#access/acl-file';
import { AclRules } from '#access/acl-rules';
import { startBroker } from '#test/broker';
import { AclComparison, type AclDifference } from './acl-diff.ts';

const rulesOf = (text: string): AclRules => new AclRules(parseAcl(text));
const everything = rulesOf('{allow, all}.');
const shown = ({ clientId, action, topic, isAllowed, rule }: AclDifference): string =>
  `${clientId} ${action} ${topic} ${isAllowed ? 'allow' : 'deny'} ${rule?.line ?? 'no rule'}`;

test('what neither rules speak of is decided by the zone, before and after', async () => {
  const rules = rulesOf('{deny, all, subscribe, "a"}.\n{allow, all, subscribe, "b"}.');
  for (const [aclNomatch, wanted] of [
    ['allow', ['c subscribe a deny 1']],
    ['deny', ['c subscribe b allow 2']],
  ] as const) {
    await using broker = await startBroker({ workers: 0, zone: { enableAcl: true, aclNomatch } });
    broker.hook('client.check_acl', () => 'allow', 'any');
    const client = await broker.connect({ clientId: 'c' });
    await client.subscribe(['a', 'b', 'c']);
    const { rows } = await new AclComparison(broker.broker, rules).slice(rulesOf(''));
    assert.deepEqual(rows.map(shown), wanted);
    const back = await new AclComparison(broker.broker, rulesOf('')).slice(rules);
    assert.equal(back.rows.length, 1);
    assert.equal(back.rows[0]?.rule, undefined);
  }
});

test('superusers, zones without access control and clients that are away are not compared', async () => {
  await using broker = await startBroker({ workers: 0, zone: { enableAcl: true } });
  broker.hook('client.check_acl', () => 'allow', 'any');
  broker.hook(
    'client.authenticate',
    ({ username }) => ({ allow: true, isSuperuser: username === 'root' }),
    'auth',
  );
  const root = await broker.connect({ clientId: 'root', username: 'root' });
  await root.subscribe('t');
  const away = await broker.connect({
    clientId: 'away',
    properties: { sessionExpirySeconds: 100 },
  });
  await away.subscribe('t');
  await broker.lose(away, 'away');
  const plain = await broker.connect({ clientId: 'plain' });
  await plain.subscribe('t');
  const found = await new AclComparison(broker.broker, rulesOf('{deny, all}.')).slice(everything);
  assert.deepEqual(found.rows.map(shown), ['plain subscribe t deny 1']);
  assert.deepEqual([found.clients, found.subscriptions], [1, 1]);
  await using open = await startBroker({ workers: 0, zone: { enableAcl: false } });
  const free = await open.connect({ clientId: 'free' });
  await free.subscribe('t');
  const none = await new AclComparison(open.broker, rulesOf('{deny, all}.')).slice(everything);
  assert.deepEqual([none.rows, none.clients], [[], 0]);
});

test('a comparison goes on where its last slice ended', async () => {
  await using broker = await startBroker({ workers: 0, zone: { enableAcl: true } });
  broker.hook('client.check_acl', () => 'allow', 'any');
  const count = 300;
  const filters = Array.from({ length: 8 }, (_, i) => `t/${i}`);
  for (let i = 0; i < count; i++) {
    const client = await broker.connect({ clientId: `c${String(i).padStart(3, '0')}` });
    await client.subscribe(filters);
  }
  const comparison = new AclComparison(broker.broker, rulesOf('{deny, all}.'));
  const rows: AclDifference[] = [];
  let slices = 0;
  let next: string | undefined = '';
  while (next !== undefined) {
    const slice = await comparison.slice(everything);
    rows.push(...slice.rows);
    next = slice.next;
    slices++;
  }
  assert.equal(slices, 2, 'the first has more than a thousand rows');
  assert.equal(rows.length, count * filters.length);
  assert.equal(new Set(rows.map(shown)).size, rows.length, 'none of them twice');
  const ids = rows.map(({ clientId }) => clientId);
  assert.deepEqual(ids, ids.toSorted());
  assert.deepEqual((await comparison.slice(everything)).rows, [], 'it is over');
});

test('the loop has its turn every few milliseconds of a comparison', async () => {
  await using broker = await startBroker({ workers: 0, zone: { enableAcl: true } });
  broker.hook('client.check_acl', () => 'allow', 'any');
  const client = await broker.connect({ clientId: 'c' });
  const filters = Array.from({ length: 6400 }, (_, i) => `t/${i}`);
  for (let i = 0; i < filters.length; i += 800) await client.subscribe(filters.slice(i, i + 800));
  let nowMs = 0;
  // Each look at it takes a millisecond, and there is one for 64 decisions.
  const clock = { monotonicMs: () => nowMs++ };
  const core = Object.create(broker.broker.core, { clock: { value: clock } }) as Core;
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const { rows } = await new AclComparison({ core }, rulesOf('{deny, all}.')).slice(everything);
  isOver = true;
  assert.equal(rows.length, filters.length);
  assert.ok(turns >= 10 && turns <= 100, `${turns} turns`);
});
