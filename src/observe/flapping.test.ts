import assert from 'node:assert/strict';
import test from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Reason } from '#wire/reason-codes';
import { Hooks } from '#hooks/runner';
import type { ClientInfo } from '#hooks/table';
import { type FlappingEvent, FlappingWatch } from './flapping.ts';

interface Bench {
  readonly hooks: Hooks;
  readonly watch: FlappingWatch;
  readonly batches: (readonly FlappingEvent[])[];
}

function bench(...zones: string[]): Bench {
  const hooks = new Hooks((_hook, _owner, error) => assert.fail(String(error)));
  const batches: (readonly FlappingEvent[])[] = [];
  const watch = new FlappingWatch(hooks, (events) => batches.push(events));
  watch.set(zones);
  return { hooks, watch, batches };
}

const client = (clientId: string, zone = 'external'): ClientInfo =>
  ({ clientId, zone }) as ClientInfo;

test('connects and disconnects of a turn are told in one batch, in order', async () => {
  const { hooks, batches } = bench('external', 'other');
  hooks.tell('client.connected', client('a'), Reason.success);
  hooks.tell('client.connected', client('b', 'other'), Reason.success);
  hooks.tell('client.disconnected', client('a'), 'normal');
  assert.deepEqual(batches, []);
  await nextTurn();
  assert.deepEqual(batches, [
    [
      { clientId: 'a', zone: 'external' },
      { clientId: 'b', zone: 'other' },
      { clientId: 'a', zone: 'external' },
    ],
  ]);
  await nextTurn();
  assert.equal(batches.length, 1);
});

test('what is not the doing of the client is not told', async () => {
  const { hooks, batches } = bench('external');
  for (const code of [
    Reason.badUsernameOrPassword,
    Reason.notAuthorized,
    Reason.banned,
    Reason.serverBusy,
    Reason.serverUnavailable,
    Reason.quotaExceeded,
    Reason.connectionRateExceeded,
  ]) {
    hooks.tell('client.connected', client('a'), code);
  }
  hooks.tell('client.disconnected', client('a'), 'banned');
  hooks.tell('client.disconnected', client('a'), 'shutdown');
  hooks.tell('client.connected', client(''), Reason.clientIdentifierNotValid);
  hooks.tell('client.connected', client('a', 'internal'), Reason.success);
  await nextTurn();
  const counted = ['kicked', 'conflict', 'keepalive_timeout', 'closed'];
  for (const reason of counted) hooks.tell('client.disconnected', client('a'), reason);
  await nextTurn();
  assert.deepEqual(
    batches.map(({ length }) => length),
    [counted.length],
  );
});

test('a batch is only so long', async () => {
  const { hooks, batches } = bench('external');
  for (let i = 0; i < 2500; i++) hooks.tell('client.connected', client(`c${i}`), Reason.success);
  await nextTurn();
  assert.deepEqual(
    batches.map(({ length }) => length),
    [1000, 1000, 500],
  );
});

test('hooks are set while a zone wants them, and not twice', async () => {
  const { hooks, watch, batches } = bench();
  const areSet = (): boolean[] => [hooks.has('client.connected'), hooks.has('client.disconnected')];
  assert.deepEqual(areSet(), [false, false]);
  watch.set(['a']);
  watch.set(['b']);
  assert.deepEqual(areSet(), [true, true]);
  hooks.tell('client.connected', client('c', 'a'), Reason.success);
  hooks.tell('client.connected', client('c', 'b'), Reason.success);
  await nextTurn();
  assert.deepEqual(batches, [[{ clientId: 'c', zone: 'b' }]]);
  watch.set([]);
  assert.deepEqual(areSet(), [false, false]);
});
