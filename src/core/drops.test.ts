import assert from 'node:assert/strict';
import test from 'node:test';
import { VirtualClock } from '#base/clock';
import { type Logger, nullLogger } from '#base/log';
import { TimerWheel } from '#base/timers';
import { Hooks } from '#hooks/runner';
import { Drops } from './drops.ts';
import { Metrics } from './metrics.ts';
import { messageOn } from './session-fixture.ts';

test('drops warn once a minute about each client that loses messages for want of room', () => {
  const clock = new VirtualClock();
  const timers = new TimerWheel({ clock, onError: () => assert.fail() });
  timers.start();
  const warned: unknown[] = [];
  const log: Logger = { ...nullLogger, warn: (_, fields) => void warned.push(fields) };
  const hooks = new Hooks(() => assert.fail());
  const metrics = new Metrics();
  const drops = new Drops({ metrics, hooks, timers, log });
  for (let i = 0; i < 3; i++) drops.count('a', messageOn('t'), 'queue_full');
  drops.count('b', messageOn('t'), 'outbox_full');
  drops.count('b', messageOn('t'), 'expired');
  drops.count('b', messageOn('t'), 'no_local');
  const first = [
    { clientId: 'a', reason: 'queue_full' },
    { clientId: 'b', reason: 'outbox_full' },
  ];
  assert.deepEqual(warned, first);
  assert.equal(metrics.get('messages/dropped'), 5);
  assert.equal(metrics.get('messages/expired'), 1);
  clock.advance(60_000);
  drops.count('a', messageOn('t'), 'queue_full');
  assert.deepEqual(warned, [...first, first[0]]);
  timers.stop();
});
