// The parts of one worker's broker, put together bottom to top: each is given what it needs of those
// before it, and knows nothing of those behind it.

import type { Clock } from '#base/clock';
import { describeError } from '#base/errors';
import type { Logger } from '#base/log';
import { TimerWheel } from '#base/timers';
import type { Settings } from '#config/settings';
import { Hooks } from '#hooks/runner';
import { Alarms } from './alarms.ts';
import type { Core } from './context.ts';
import { Drops } from './drops.ts';
import { ExpressLane } from './express-lane.ts';
import { budgetBytes, machineMemory } from './memory-budget.ts';
import { Metrics } from './metrics.ts';
import { Overload } from './overload.ts';
import { Flusher } from './flusher.ts';
import type { Peers } from './ports.ts';
import { Pressure } from './pressure.ts';
import { Publishing } from './publishing.ts';
import { Retained } from './retained.ts';
import { Router } from './router.ts';
import { Sessions } from './sessions.ts';
import { Stats } from './stats.ts';
import type { Store } from './store-port.ts';
import { Subscriptions } from './subscriptions.ts';
import { Wills } from './wills.ts';

export interface BrokerOptions {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly log: Logger;
  readonly store: Store;
  readonly peers: Peers;
}

export function buildCore(options: BrokerOptions): Core {
  const { settings, clock, log, store, peers } = options;
  const timers = new TimerWheel({
    clock,
    onError: (error) => log.error('timer.failed', { error: describeError(error) }),
  });
  const hooks = new Hooks((hook, owner, error) =>
    log.error('hook.failed', { hook, owner, error: describeError(error) }),
  );
  const metrics = new Metrics();
  const stats = new Stats();
  const { alarms, pressure, overload } = buildWatch(options, metrics);
  const onFault = (clientId: string, error: unknown): void =>
    log.error('delivery.failed', { clientId, error: describeError(error) });
  const router = new Router(
    { peers, stats, metrics, onFault },
    {
      strategy: settings.broker.sharedSubscriptionStrategy,
      needsReady: settings.broker.sharedDispatchAckEnabled,
    },
  );
  const retained = new Retained(
    settings.retainer,
    { timers, metrics, stats, store },
    (topic, why) => log.warn('retained.refused', { topic, why }),
  );
  const publishing = new Publishing({ hooks, router, retained, metrics });
  const wills = new Wills(timers, store.wills, (will, onAccepted) =>
    publishing.publish(will, onAccepted).catch((error: unknown) => {
      log.error('will.failed', { topic: will.topic, error: describeError(error) });
    }),
  );
  const subscriptions = new Subscriptions(router, stats);
  const sessions = new Sessions(
    {
      metrics,
      hooks,
      timers,
      store,
      drops: new Drops({ metrics, hooks, timers, log }),
      held: pressure.held,
      groupOf: (filter, name) => router.group(filter, name),
    },
    { subscriptions, wills, stats, peers },
  );
  overload.onPressure(() => sessions.relieve());
  const express = new ExpressLane({ router, metrics, peers, hooks, nowMs: () => timers.nowMs });
  hooks.onChange = () => express.reconsider();
  return {
    settings,
    clock,
    log,
    timers,
    hooks,
    metrics,
    stats,
    alarms,
    overload,
    flusher: new Flusher(pressure),
    router,
    retained,
    publishing,
    subscriptions,
    sessions,
    wills,
    express,
    peers,
  };
}

/** What looks after the node as a whole. */
function buildWatch(
  { settings, clock, log, store }: BrokerOptions,
  metrics: Metrics,
): { alarms: Alarms; pressure: Pressure; overload: Overload } {
  const alarms = new Alarms(clock, log);
  const pressure = new Pressure();
  pressure.held.unflushed = () => store.pendingBytes;
  const budget = budgetBytes(settings.node.memoryBudget, machineMemory());
  const overload = new Overload({ budgetBytes: budget, clock, log, metrics, alarms, pressure });
  return { alarms, pressure, overload };
}
