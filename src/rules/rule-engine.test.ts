import assert from 'node:assert/strict';
import test from 'node:test';
import { VirtualClock } from '#base/clock';
import { nullLogger } from '#base/log';
import type { RecordStore } from '#core/store-port';
import { CounterRows } from './rule-counters.ts';
import { RuleEngine, type RuleEngineParts } from './rule-engine.ts';
import { RuleFault, type RuleFaultKind } from './rule-fault.ts';
import type { RulesOrder } from './rule-order.ts';
import type { RuleSpec } from './rule-service.ts';

class Records implements RecordStore {
  readonly kept = new Map<string, string>();

  get(key: string): unknown {
    const value = this.kept.get(key);
    return value === undefined ? undefined : JSON.parse(value);
  }

  put(key: string, value: unknown): void {
    this.kept.set(key, JSON.stringify(value));
  }

  delete(key: string): void {
    this.kept.delete(key);
  }

  *entries(): Iterable<readonly [string, unknown]> {
    for (const key of this.kept.keys()) yield [key, this.get(key)];
  }
}

class Engine {
  readonly records: Records;
  readonly clock: VirtualClock = new VirtualClock();
  readonly shared: RulesOrder[] = [];
  readonly rows: CounterRows = new CounterRows(1);
  readonly errors: string[] = [];
  readonly rules: RuleEngine;

  constructor(records: Records = new Records(), more: Partial<RuleEngineParts> = {}) {
    this.records = records;
    this.rules = new RuleEngine({
      ...{ records, nodeName: 'node', threads: 2, nowMs: () => this.clock.nowMs() },
      flushed: async () => undefined,
      typeOfResource: () => undefined,
      counted: () => undefined,
      share: async (order) => {
        this.shared.push(order);
        this.rows.use(order.memory);
      },
      log: { ...nullLogger, error: (event) => void this.errors.push(event) },
      ...more,
    });
  }

  /** As a worker has it. */
  ordered(id: string): RulesOrder['rules'][number] {
    const found = this.shared.at(-1)?.rules.find((rule) => rule.id === id);
    assert.ok(found, `${id} is not shared`);
    return found;
  }
}

const spec: RuleSpec = { rawsql: 'SELECT * FROM "t"', actions: [{ name: 'do_nothing' }] };

async function faultOf(act: () => unknown): Promise<readonly [RuleFaultKind, string]> {
  try {
    await act();
  } catch (error) {
    if (error instanceof RuleFault) return [error.kind, error.message];
    throw error;
  }
  return assert.fail('It was not refused');
}

test('a rule that is made is kept, shared and shown', async () => {
  const engine = new Engine();
  const made = await engine.rules.create({
    ...{ rawsql: 'SELECT payload.x as x FROM "t/#", "client.connected"', description: 'words' },
    actions: [{ name: 'built_in:republish_action', params: { target_topic: 'a' } }],
  });
  assert.match(made.id, /^rule:[0-9a-f]{8}$/);
  assert.deepEqual(made.for, ['message.publish', 'client.connected']);
  const [action] = made.actions;
  assert.match(action?.id ?? '', /^republish_[0-9]+$/);
  assert.equal(action?.name, 'built_in:republish_action');
  assert.deepEqual(action?.params, {
    ...{ target_topic: 'a', target_qos: 0, target_retain: -1, payload_tmpl: '${payload}' },
  });
  assert.deepEqual(action?.metrics, [{ node: 'node', success: 0, failed: 0 }]);
  assert.deepEqual(made.metrics, [
    { node: 'node', matched: 0, speed: 0, speed_max: 0, speed_last5m: 0 },
  ]);
  assert.equal(engine.records.kept.size, 1);
  assert.equal(engine.ordered(made.id).actions[0]?.id, action?.id);
  assert.deepEqual(engine.rules.list(), [made]);
  assert.deepEqual(engine.rules.get(made.id), made);
});

const refused: readonly (readonly [string, Partial<RuleSpec>, RuleFaultKind, RegExp])[] = [
  ['text that is no SQL', { rawsql: 'SELEC' }, 'bad_sql', /line 1, column 1[^]*\^/],
  ['no statement', { rawsql: undefined as never }, 'bad_rule', /"rawsql": found nothing/],
  [
    'an unknown event',
    { rawsql: 'SELECT * FROM "client.gone"' },
    'unknown_event',
    /^Event client\.gone Not Found/,
  ],
  [
    'an unknown column',
    { rawsql: 'SELECT nix FROM "t"' },
    'unknown_column',
    /^Unknown Column: nix/,
  ],
  ['an unknown function', { rawsql: 'SELECT nix(1) as a FROM "t"' }, 'unknown_function', /nix/],
  ['an unknown action', { actions: [{ name: 'nix' }] }, 'unknown_action', /^Action nix Not Found$/],
  ['no actions', { actions: undefined as never }, 'bad_rule', /"actions": found nothing/],
  ['an action without a name', { actions: [{}] as never }, 'bad_rule', /"actions\.name"/],
  ['an action that is none', { actions: [1] as never }, 'bad_rule', /"actions": found 1/],
  [
    'too many actions',
    { actions: new Array(33).fill({ name: 'inspect' }) },
    'bad_rule',
    /more than 32/,
  ],
  [
    'parameters that are wrong',
    { actions: [{ name: 'republish' }] },
    'bad_params',
    /"target_topic" is missing/,
  ],
  [
    'parameters that are no object',
    { actions: [{ name: 'inspect', params: [] as never }] },
    'bad_params',
    /expected an object/,
  ],
  [
    'a fallback of a fallback',
    {
      actions: [
        { name: 'inspect', fallbacks: [{ name: 'inspect', fallbacks: [{ name: 'inspect' }] }] },
      ],
    },
    'bad_rule',
    /has none of its own/,
  ],
  ['an id with blanks', { id: 'a b' }, 'bad_rule', /"id"/],
  ['a long description', { description: 'x'.repeat(5000) }, 'bad_rule', /"description"/],
  ['a name that is no text', { name: 1 as never }, 'bad_rule', /"name"/],
  ['enabled that is no boolean', { enabled: 'yes' as never }, 'bad_rule', /"enabled"/],
  ['an unknown way on', { onActionFailed: 'go' as never }, 'bad_rule', /"on_action_failed"/],
  [
    'an event that FROM contradicts',
    { rawsql: 'SELECT * FROM "client.connected"', for: 'message.acked' },
    'bad_rule',
    /"for" says/,
  ],
  [
    'more than may be kept',
    { actions: [{ name: 'inspect', params: { a: 'x'.repeat(300_000) } }] },
    'bad_rule',
    /more than/,
  ],
];

for (const [what, change, kind, message] of refused) {
  test(`a rule with ${what} is refused, and nothing is kept`, async () => {
    const engine = new Engine();
    const [found, text] = await faultOf(() => engine.rules.create({ ...spec, ...change }));
    assert.equal(found, kind, text);
    assert.match(text, message);
    assert.equal(engine.records.kept.size + engine.shared.length, 0);
  });
}

test('a change keeps what it does not name, the id and what was counted', async () => {
  const engine = new Engine();
  const { id } = await engine.rules.create({
    ...spec,
    name: 'n',
    actions: [{ name: 'inspect' }, { name: 'do_nothing', fallbacks: [{ name: 'inspect' }] }],
  });
  const before = engine.ordered(id);
  engine.rows.add(before.matchedColumn);
  engine.rows.add(before.actions[1]?.successColumn ?? -1);
  const changed = await engine.rules.update(id, {
    description: 'new',
    rawsql: 'SELECT 1 FROM "u"',
  });
  assert.deepEqual(
    [changed.description, changed.name, changed.for],
    ['new', 'n', ['message.publish']],
  );
  assert.equal(changed.metrics[0]?.matched, 1);
  assert.equal(changed.actions[1]?.metrics[0]?.success, 1);
  assert.equal(changed.actions[1]?.fallbacks[0]?.name, 'inspect');
  assert.notEqual(engine.ordered(id).revision, before.revision);
  const others = await engine.rules.update(id, {
    actions: [{ name: 'do_nothing', id: before.actions[1]?.id }],
  });
  assert.equal(others.actions[0]?.metrics[0]?.success, 1);
  const named = await engine.rules.update(id, {
    actions: [{ name: 'do_nothing' }, { name: 'inspect' }],
  });
  assert.equal(named.actions[0]?.id, before.actions[1]?.id);
  const [kind] = await faultOf(() => engine.rules.update('rule:none', {}));
  assert.equal(kind, 'not_found');
  const twice = { name: 'inspect', id: before.actions[1]?.id };
  assert.equal(
    (await faultOf(() => engine.rules.update(id, { actions: [twice, twice] })))[0],
    'bad_rule',
  );
});

test('what is disabled is not shared', async () => {
  const engine = new Engine();
  const { id } = await engine.rules.create({ ...spec, enabled: false });
  assert.deepEqual(engine.shared.at(-1)?.rules, []);
  await engine.rules.update(id, { enabled: true });
  assert.equal(engine.shared.at(-1)?.rules.length, 1);
});

test('columns of what is gone go to others, who begin at 0', async () => {
  const engine = new Engine();
  const { id } = await engine.rules.create(spec);
  const { matchedColumn, actions } = engine.ordered(id);
  engine.rows.add(matchedColumn);
  assert.equal(await engine.rules.delete(id), true);
  assert.equal(await engine.rules.delete(id), false);
  const next = await engine.rules.create(spec);
  const ordered = engine.ordered(next.id);
  const columns = [matchedColumn, actions[0]?.successColumn, actions[0]?.failedColumn];
  assert.ok(columns.includes(ordered.matchedColumn));
  assert.equal(engine.rules.get(next.id)?.metrics[0]?.matched, 0);
});

test('rates are sampled, and a reset begins anew', async () => {
  const engine = new Engine();
  const { id } = await engine.rules.create(spec);
  const { matchedColumn } = engine.ordered(id);
  for (let i = 0; i < 25; i++) engine.rows.add(matchedColumn);
  engine.clock.advance(10_000);
  engine.rules.sample();
  assert.deepEqual(engine.rules.get(id)?.metrics, [
    { node: 'node', matched: 25, speed: 2.5, speed_max: 2.5, speed_last5m: 2.5 },
  ]);
  const reset = await engine.rules.resetMetrics(id);
  assert.deepEqual(reset.metrics, [
    { node: 'node', matched: 0, speed: 0, speed_max: 0, speed_last5m: 0 },
  ]);
  engine.rows.add(matchedColumn);
  assert.equal(engine.rules.get(id)?.metrics[0]?.matched, 1);
});

test('rules are there again after a restart, in their order; one that cannot be read stays on disk', async () => {
  const engine = new Engine();
  const made = [];
  for (let i = 0; i < 3; i++) made.push((await engine.rules.create({ ...spec, name: `${i}` })).id);
  await engine.rules.update(made[0] as string, { description: 'changed last' });
  engine.records.put('rule:odd', { id: 'rule:odd', order: 9, rawsql: 'SELECT', actions: [] });
  const again = new Engine(engine.records);
  assert.deepEqual(
    again.rules.list().map(({ id }) => id),
    made,
  );
  assert.deepEqual(again.errors, ['rule.not_read']);
  assert.equal(engine.records.kept.size, 4);
  const fourth = await again.rules.create(spec);
  assert.deepEqual(again.rules.list().at(-1)?.id, fourth.id);
});

test('the older form keeps the event that FROM does not say', async () => {
  const engine = new Engine();
  const older = await engine.rules.create({
    ...spec,
    rawsql: 'SELECT * FROM "#"',
    for: 'client.connected',
  });
  assert.deepEqual(older.for, ['client.connected']);
  assert.deepEqual(engine.ordered(older.id).for, ['client.connected']);
  const newer = await engine.rules.create({ ...spec, for: 'message.publish' });
  assert.equal(engine.ordered(newer.id).for, undefined);
});

test('what is exported can be imported, and is the same then', async () => {
  const engine = new Engine();
  await engine.rules.create({
    ...spec,
    name: 'a',
    actions: [{ name: 'inspect', fallbacks: [{ name: 'do_nothing' }] }],
  });
  await engine.rules.create({
    ...spec,
    rawsql: 'SELECT * FROM "#"',
    for: 'client.connected',
    onActionFailed: 'stop',
  });
  const document = JSON.parse(JSON.stringify(engine.rules.export())) as unknown;
  const other = new Engine();
  const extra = await other.rules.create({ ...spec, id: 'mine' });
  assert.deepEqual(await other.rules.import(document), { created: 2, replaced: 0 });
  assert.deepEqual(other.rules.list().slice(1), engine.rules.list());
  assert.equal(other.rules.list()[0]?.id, extra.id);
  assert.deepEqual(await other.rules.import(document), { created: 0, replaced: 2 });
  assert.equal(other.shared.length, 3);
});

const documents: readonly (readonly [string, unknown, RegExp])[] = [
  ['nothing', undefined, /expected \{"version": 1/],
  ['another version', { version: 2, rules: [] }, /expected \{"version": 1/],
  ['no list', { version: 1, rules: {} }, /expected \{"version": 1/],
  ['no rules', { version: 1, rules: [1] }, /expected objects/],
  [
    'an id twice',
    {
      version: 1,
      rules: [
        { ...spec, id: 'a' },
        { ...spec, id: 'a' },
      ],
    },
    /"a" is there twice/,
  ],
  ['one that is wrong', { version: 1, rules: [spec, { ...spec, actions: 1 }] }, /"actions"/],
];

for (const [what, document, message] of documents) {
  test(`a document with ${what} is refused whole`, async () => {
    const engine = new Engine();
    const [kind, text] = await faultOf(() => engine.rules.import(document));
    assert.equal(kind, 'bad_rule');
    assert.match(text, message);
    assert.equal(engine.records.kept.size, 0);
  });
}

test('an id that is taken is refused', async () => {
  const engine = new Engine();
  await engine.rules.create({ ...spec, id: 'mine' });
  assert.equal((await faultOf(() => engine.rules.create({ ...spec, id: 'mine' })))[0], 'exists');
});

test('many changes at once are told together', async () => {
  const engine = new Engine();
  await Promise.all(Array.from({ length: 50 }, () => engine.rules.create(spec)));
  assert.ok(engine.shared.length <= 2, `They were told ${engine.shared.length} times`);
  assert.equal(engine.shared.at(-1)?.rules.length, 50);
});

test('workers are told when somebody watches what inspect sees, and when nobody does any more', async () => {
  const engine = new Engine();
  const seen: unknown[] = [];
  const stop = engine.rules.onInspect((sight) => void seen.push(sight));
  const second = engine.rules.onInspect(() => undefined);
  await engine.rules.create(spec);
  assert.equal(engine.shared.at(-1)?.isInspected, true);
  const sight = { ruleId: 'r', actionId: 'a', atMs: 1, selected: {}, event: {}, params: {} };
  engine.rules.inspected(sight);
  assert.deepEqual(seen, [sight]);
  stop();
  stop();
  second();
  await engine.rules.create(spec);
  assert.equal(engine.shared.at(-1)?.isInspected, false);
});

test('actions are found by both names, and by event or group', async () => {
  const { rules } = new Engine();
  assert.equal(rules.action('built_in:inspect_action')?.name, 'inspect');
  assert.equal(rules.action('nix'), undefined);
  const names = (of?: string): readonly string[] => rules.actions(of).map(({ name }) => name);
  for (const of of [
    undefined,
    '$any',
    '$message',
    '$client',
    '$session',
    '$events',
    'client.connected',
  ]) {
    for (const name of ['inspect', 'republish', 'do_nothing']) assert.ok(names(of).includes(name));
  }
  const titles = rules.actions('$any').map(({ title }) => title.en);
  assert.deepEqual(titles, titles.toSorted());
  assert.equal((await faultOf(() => rules.actions('$nix')))[0], 'unknown_event');
});
