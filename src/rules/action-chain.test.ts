import assert from 'node:assert/strict';
import test from 'node:test';
import { nullLogger } from '#base/log';
import { ActionChain, type ChainedAction } from './action-chain.ts';
import type { ActionEvent, ActionRun } from './actions/action.ts';
import { raise } from './eval/raise.ts';
import type { OnActionFailed } from './rule-service.ts';

const event = {} as ActionEvent;

class Chained {
  readonly told: string[] = [];
  readonly lines: object[] = [];
  nowMs = 0;

  action(id: string, run: ActionRun, fallbacks: readonly ChainedAction[] = []): ChainedAction {
    return {
      ...{ id, fallbacks },
      run: (selected, seen) => {
        this.told.push(`${id} runs`);
        return run(selected, seen);
      },
      succeeded: () => void this.told.push(`${id} succeeded`),
      failed: () => void this.told.push(`${id} failed`),
    };
  }

  chain(actions: readonly ChainedAction[], onActionFailed: OnActionFailed): ActionChain {
    const log = {
      ...nullLogger,
      warn: (_: string, fields?: object) => void this.lines.push(fields ?? {}),
    };
    return new ActionChain({ ruleId: 'r', actions, onActionFailed, log, nowMs: () => this.nowMs });
  }
}

const fine: ActionRun = () => undefined;
const late: ActionRun = async () => undefined;
const bad: ActionRun = () => {
  throw new Error('no');
};
const badLate: ActionRun = async () => {
  throw new Error('too late');
};

const rows: readonly (readonly [string, ActionRun, OnActionFailed, readonly string[]])[] = [
  [
    'one that fails keeps none from running',
    bad,
    'continue',
    ['a runs', 'a failed', 'b runs', 'b succeeded'],
  ],
  ['one that fails ends it where the rule says so', bad, 'stop', ['a runs', 'a failed']],
  [
    'one that takes its time lets others run',
    late,
    'continue',
    ['a runs', 'b runs', 'b succeeded', 'a succeeded'],
  ],
  [
    'one that takes its time is waited for where it could end it',
    late,
    'stop',
    ['a runs', 'a succeeded', 'b runs', 'b succeeded'],
  ],
  ['one that fails late ends it too', badLate, 'stop', ['a runs', 'a failed']],
  [
    'one that fails late keeps none from running',
    badLate,
    'continue',
    ['a runs', 'b runs', 'b succeeded', 'a failed'],
  ],
];

for (const [what, run, onActionFailed, wanted] of rows) {
  test(`of two actions, ${what}`, async () => {
    const chained = new Chained();
    const actions = [chained.action('a', run), chained.action('b', fine)];
    chained.chain(actions, onActionFailed).run({}, event);
    await new Promise(setImmediate);
    assert.deepEqual(chained.told, wanted);
  });
}

test('fallbacks run in their order when an action fails, and not otherwise', async () => {
  const chained = new Chained();
  const fallbacks = [chained.action('f', bad), chained.action('g', fine)];
  const actions = [chained.action('a', badLate, fallbacks), chained.action('b', fine, fallbacks)];
  chained.chain(actions, 'stop').run({}, event);
  await new Promise(setImmediate);
  assert.deepEqual(chained.told, [
    ...['a runs', 'a failed', 'f runs', 'f failed', 'g runs', 'g succeeded'],
  ]);
});

test('a flood of failures is told once in a while, with how many were not', () => {
  const chained = new Chained();
  const raises: ActionRun = () => raise(() => 'it is too long');
  const chain = chained.chain([chained.action('a', raises)], 'continue');
  for (let i = 0; i < 5; i++) chain.run({}, event);
  chained.nowMs = 10_000;
  chain.run({}, event);
  assert.deepEqual(chained.lines, [
    { rule: 'r', action: 'a', error: 'it is too long' },
    { rule: 'r', action: 'a', error: 'it is too long', more: 4 },
  ]);
});
