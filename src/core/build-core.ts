// The parts of one worker's broker, put together bottom to top: each is given what it needs of those
// before it, and knows nothing of those behind it.

import { CalmLog } from '#base/calm-log';
import type { Clock } from '#base/clock';
import { describeError, describeMistake } from '#base/errors';
import { type Logger, nullLogger } from '#base/log';
import { TimerWheel } from '#base/timers';
import type { Settings } from '#config/settings';
import { Hooks } from '#hooks/runner';
import { Alarms } from './alarms.ts';
import type { Core } from './context.ts';
import { Drops } from './drops.ts';
import { ExpressLane } from './express-lane.ts';
import { Probe } from './histograms.ts';
import { budgetBytes, machineMemory } from './memory-budget.ts';
import { Metrics } from './metrics.ts';
import { Overload } from './overload.ts';
import { Flusher } from './flusher.ts';
import { FilterTable } from './filter-table.ts';
import type { GroupMemory } from './group-memory.ts';
import { mayPublishWill } from './past-rights.ts';
import type { Peers } from './peers-port.ts';
import { Pressure } from './pressure.ts';
import { Publishing, PublishRefused } from './publishing.ts';
import { Retained } from './retained.ts';
import { Rights } from './rights.ts';
import { Router } from './router.ts';
import { Sessions } from './sessions.ts';
import { Stats } from './stats.ts';
import type { Store } from './store-port.ts';
import { Subscriptions } from './subscriptions.ts';
import { type PublishWill, Wills } from './wills.ts';

export interface BrokerOptions {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly log: Logger;
  readonly store: Store;
  readonly peers: Peers;
  /** What several workers of one node have in common; absent where there is one. */
  readonly node?: NodeMemory | undefined;
}

export interface NodeMemory {
  /** This worker's place among all. */
  readonly index: number;
  readonly workers: number;
  readonly metrics: Metrics;
  readonly stats: Stats;
  readonly groups: GroupMemory;
  /** Tells the others how many bytes wait here, and answers how many wait with them. */
  held(here: number): number;
}

export function buildCore(options: BrokerOptions): Core {
  const { settings, clock, log, store, peers } = options;
  const timers = buildTimers(options);
  const hooks = buildHooks(options);
  const { node } = options;
  const stats = node?.stats ?? new Stats();
  const metrics = node?.metrics ?? new Metrics(undefined, stats);
  const { alarms, pressure, overload } = buildWatch(options, metrics);
  const onFault = (clientId: string, error: unknown): void =>
    log.error('delivery.failed', { clientId, error: describeError(error) });
  const filters = buildFilters(options, stats);
  const router = new Router(filters, onFault);
  const retained = new Retained(
    settings.retainer,
    { timers, stats, store },
    (topic, why) => log.warn('retained.refused', { topic, why }),
    peers,
    node === undefined || node.index === 0,
  );
  const publishing = new Publishing({ hooks, router, retained, metrics });
  const wills = new Wills(
    timers,
    store.wills,
    willPublisher(() => core),
    peers.isAlone,
  );
  const subscriptions = new Subscriptions(filters, stats);
  const sessions = new Sessions(
    {
      metrics,
      hooks,
      timers,
      store,
      drops: new Drops({ metrics, hooks, timers, log }),
      held: pressure.held,
      groupOf: (filter, name) => filters.group(filter, name),
    },
    { subscriptions, wills, stats, peers },
  );
  overload.onPressure(() => sessions.relieve());
  const express = new ExpressLane({ router, metrics, hooks, nowMs: () => timers.nowMs });
  const rights = new Rights(settings.acl, () => timers.nowMs);
  hooks.onChange = () => {
    express.reconsider();
    rights.forgetAll();
  };
  const core: Core = {
    settings,
    clock,
    log,
    timers,
    hooks,
    metrics,
    stats,
    alarms,
    overload,
    flusher: new Flusher(pressure, new Probe(metrics.histogramCounts)),
    filters,
    router,
    rights,
    retained,
    publishing,
    subscriptions,
    sessions,
    wills,
    express,
    peers,
  };
  return core;
}

function buildTimers({ clock, log }: BrokerOptions): TimerWheel {
  return new TimerWheel({
    clock,
    onError: (error) => log.error('timer.failed', { error: describeError(error) }),
  });
}

function buildHooks({ settings, clock, log }: BrokerOptions): Hooks {
  const { hookDeadlineMs } = settings.pluginHost;
  const calm = new CalmLog(log, clock);
  return new Hooks(
    (hook, owner, error) =>
      calm.error(`${owner} ${hook}`, 'hook.failed', () => {
        return { hook, owner, error: describeMistake(error) };
      }),
    { clock, deadlineMs: hookDeadlineMs },
  );
}

/** `coreOf`: wills are published when all of it is there. */
function willPublisher(coreOf: () => Core): PublishWill {
  return async (will, onAccepted) => {
    const core = coreOf();
    const { publishing, log } = core;
    try {
      const right = mayPublishWill(core, will);
      if (typeof right === 'boolean' ? right : await right) {
        await publishing.publish(will, onAccepted);
      } else onAccepted();
      return true;
    } catch (error) {
      if (error instanceof PublishRefused) {
        log.warn('will.refused', { topic: will.topic, error: error.message });
        return true;
      }
      log.error('will.failed', { topic: will.topic, error: describeError(error) });
      return false;
    }
  };
}

function buildFilters({ settings, peers, store, node }: BrokerOptions, stats: Stats): FilterTable {
  const { sharedSubscriptionStrategy, sharedDispatchAckEnabled } = settings.broker;
  return new FilterTable({
    peers,
    stats,
    groups: node?.groups,
    index: node?.index,
    shared: {
      strategy: sharedSubscriptionStrategy,
      needsReady: sharedDispatchAckEnabled,
      hasPassed: (passage, group) => store.hasPassed(passage, group),
    },
  });
}

/** What looks after the node as a whole. */
function buildWatch(
  { settings, clock, log, store, node }: BrokerOptions,
  metrics: Metrics,
): { alarms: Alarms; pressure: Pressure; overload: Overload } {
  // Of several threads the control thread logs them, once for all.
  const alarms = new Alarms(clock, node === undefined ? log : nullLogger);
  const pressure = new Pressure();
  pressure.held.unflushed = () => store.pendingBytes;
  if (node !== undefined) pressure.held.elsewhere = (here) => node.held(here);
  const budget = budgetBytes(settings.node.memoryBudget, machineMemory(), node?.workers);
  const overload = new Overload({ budgetBytes: budget, clock, log, metrics, alarms, pressure });
  return { alarms, pressure, overload };
}
