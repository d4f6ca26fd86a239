// A worker's rules without a worker: topics are watched by the router's own table, hooks by the broker's own
// runner, and what is published is kept.

import { VirtualClock } from '#base/clock';
import { nullLogger } from '#base/log';
import { Hooks } from '#hooks/runner';
import type { MessageView } from '#hooks/table';
import { FilterTrie } from '#topics/filter-trie';
import type { RuleMessage } from './actions/action.ts';
import { CounterPool } from './rule-counters.ts';
import type { ActionOrder, RuleOrder } from './rule-order.ts';
import { RuleSet } from './rule-set.ts';
import type { InspectLoss, InspectSight } from './rule-service.ts';

type Call = (message: MessageView) => void;

export class WorkerRules {
  readonly pool: CounterPool = new CounterPool(1);
  readonly hooks: Hooks = new Hooks((hook, _, error) => {
    throw new Error(`Hook ${hook} failed`, { cause: error });
  });
  readonly published: RuleMessage[] = [];
  readonly clock: VirtualClock = new VirtualClock();
  readonly sights: InspectSight[] = [];
  readonly losses: InspectLoss[] = [];
  readonly logged: { readonly event: string; readonly fields: object }[] = [];
  readonly counted: string[] = [];
  /** Calls to rules, whatever came of them. */
  shown = 0;
  hookings = 0;
  onPublish: (message: RuleMessage) => Promise<unknown> = async () => 1;
  readonly set: RuleSet;
  readonly #all = new Set<Call>();
  readonly #byFilter = new FilterTrie<Set<Call>>();
  #revision = 0;
  #orders: readonly RuleOrder[] = [];

  constructor(isSysIgnored = true) {
    const keep = (event: string, fields: object = {}): void =>
      void this.logged.push({ event, fields });
    this.set = new RuleSet({
      ...{ nodeName: 'node', thread: 0, nowMs: () => 1000, isSysIgnored },
      log: { ...nullLogger, info: keep, warn: keep, error: keep, isEnabled: () => true },
      watch: (filter, call) => this.#watch(filter, call),
      setHooks: (wishes) => {
        this.hookings++;
        this.hooks.replace('rules', wishes);
      },
      publish: (message) => {
        this.published.push(message);
        return this.onPublish(message);
      },
      perform: () => Promise.reject(new Error('There are no resources here')),
      count: (metric) => void this.counted.push(metric),
      onSight: (seen) => {
        if ('lost' in seen) this.losses.push(seen);
        else this.sights.push(seen);
      },
      after: (ms, call) => this.clock.setTimer(ms, call),
    });
  }

  get watchedFilters(): number {
    return this.#byFilter.size + this.#all.size;
  }

  #watch(filter: string | undefined, call: Call): () => void {
    const calls = filter === undefined ? this.#all : (this.#byFilter.get(filter) ?? new Set());
    if (filter !== undefined) this.#byFilter.set(filter, calls);
    calls.add(call);
    return () => {
      calls.delete(call);
      if (filter !== undefined && calls.size === 0) this.#byFilter.delete(filter);
    };
  }

  /** As the broker does: each watcher once. */
  publish(topic: string, payload: string, more: Partial<MessageView> = {}): void {
    const calls = new Set(this.#all);
    this.#byFilter.match(topic, (some) => {
      for (const call of some) calls.add(call);
    });
    const message = messageOf(topic, payload, more);
    for (const call of calls) {
      this.shown++;
      call(message);
    }
  }

  order(id: string, rawsql: string, more: Partial<RuleOrder> = {}): RuleOrder {
    return {
      ...{ id, rawsql, for: undefined, actions: [], onActionFailed: 'continue' as const },
      ...{ revision: ++this.#revision, matchedColumn: this.pool.take() },
      ...more,
    };
  }

  action(
    id: string,
    name: string,
    params: object = {},
    fallbacks: readonly ActionOrder[] = [],
  ): ActionOrder {
    return {
      ...{ id, name, fallbacks, params: params as Readonly<Record<string, unknown>> },
      ...{ successColumn: this.pool.take(), failedColumn: this.pool.take() },
    };
  }

  apply(
    orders: readonly RuleOrder[],
    isInspected = false,
    idleColumns: readonly number[] = [],
  ): void {
    this.#orders = orders;
    const { memory } = this.pool;
    this.set.apply({ rules: orders, memory, idleColumns, isInspected, recordings: [] });
  }

  matched(id: string): number {
    const found = this.#orders.find((order) => order.id === id);
    return found === undefined ? -1 : this.pool.value(found.matchedColumn);
  }
}

/** `more` may have getters, which stay what they are. */
export function messageOf(
  topic: string,
  payload: string,
  more: Partial<MessageView> = {},
): MessageView {
  const usual: MessageView = {
    ...{ id: '1', topic, payload: Buffer.from(payload), qos: 0, retain: false, clientId: 'c' },
    ...{ properties: undefined, username: undefined, timestampMs: 1 },
  };
  return Object.defineProperties(usual, Object.getOwnPropertyDescriptors(more)) as MessageView;
}
