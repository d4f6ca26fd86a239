// The worker part by itself: a control part that does not answer.

import assert from 'node:assert/strict';
import test from 'node:test';
import type { HookTable, MessageRefusal, WorkerContext } from '#sdk';
import type { DelayedSettings } from './config.ts';
import part from './worker.ts';

test('a message that nobody can keep in time is refused before the broker would let it pass', async () => {
  const timers: { ms: number; call: () => unknown }[] = [];
  let publish: HookTable['message.publish'] | undefined;
  const context: Partial<WorkerContext<DelayedSettings>> = {
    log: { warn: () => undefined } as unknown as WorkerContext['log'],
    clock: { nowMs: () => 0 } as unknown as WorkerContext['clock'],
    hookDeadlineMs: 10_000,
    count: () => undefined,
    ask: () => new Promise(() => {}),
    after: (ms, call) => {
      timers.push({ ms, call });
      return () => undefined;
    },
    hooks: {
      on: (hook, call) => {
        if (hook === 'message.publish') publish = call as HookTable['message.publish'];
      },
      replace: () => undefined,
    },
  };
  await part(context as WorkerContext<DelayedSettings>);
  const message = { topic: '$delayed/5/x', payload: Buffer.from('x'), qos: 1, retain: false };
  const answer = publish?.(message as never);
  const [timer] = timers;
  assert.ok(timer !== undefined && timer.ms < 10_000, `${timer?.ms}`);
  timer.call();
  const { refuse, isFault } = (await answer) as MessageRefusal;
  assert.deepEqual([refuse, isFault], [0x80, true]);
});
