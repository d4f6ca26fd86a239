// The rules of the node: kept on disk, with what each counts. Law: what a change makes of a rule is known
// before it is written, so that a change is whole or not at all.

import type { RecordStore } from '#core/store-port';
import { describeError } from '#base/errors';
import type { Logger } from '#base/log';
import { Rate } from './rates.ts';
import type { CounterPool } from './rule-counters.ts';
import type { ActionOrder, RuleOrder } from './rule-order.ts';
import { type ActionRecord, type RuleRecord, recordOf, withFallbacks } from './rule-record.ts';
import type { ActionInstanceView, RuleView } from './rule-service.ts';

interface ActionColumns {
  readonly success: number;
  readonly failed: number;
}

export interface KeptRule {
  readonly record: RuleRecord;
  readonly events: readonly string[];
  readonly revision: number;
  readonly matched: number;
  readonly actions: ReadonlyMap<string, ActionColumns>;
  rate: Rate;
}

export interface RuleTableParts {
  readonly records: RecordStore;
  readonly pool: CounterPool;
  readonly nodeName: string;
  readonly nowMs: () => number;
  readonly log: Logger;
}

export class RuleTable {
  readonly #parts: RuleTableParts;
  readonly #rules = new Map<string, KeptRule>();
  #revision = 0;
  #order = 0;

  constructor(parts: RuleTableParts) {
    this.#parts = parts;
    const found = [...parts.records.entries()].map(([, value]) => value as RuleRecord);
    for (const record of found.toSorted((a, b) => a.order - b.order)) this.#read(record);
  }

  #read(record: RuleRecord): void {
    const { log } = this.#parts;
    try {
      const { prepared } = recordOf(record, record);
      this.#put(record, prepared.events);
    } catch (error) {
      // A rule of a version that knew more: it stays on disk for that one.
      log.error('rule.not_read', { rule: record.id, error: describeError(error) });
    }
  }

  get size(): number {
    return this.#rules.size;
  }

  get actionCount(): number {
    return this.#rules.values().reduce((sum, { actions }) => sum + actions.size, 0);
  }

  nextOrder(): number {
    return this.#order + 1;
  }

  get(id: string): KeptRule | undefined {
    return this.#rules.get(id);
  }

  all(): readonly KeptRule[] {
    return [...this.#rules.values()].toSorted((a, b) => a.record.order - b.record.order);
  }

  /** Answers columns that nobody needs any more, once workers know. */
  write(record: RuleRecord, events: readonly string[]): readonly number[] {
    this.#parts.records.put(record.id, record);
    return this.#put(record, events);
  }

  #put(record: RuleRecord, events: readonly string[]): readonly number[] {
    const { pool, nowMs } = this.#parts;
    const former = this.#rules.get(record.id);
    const actions = new Map<string, ActionColumns>();
    for (const { id } of record.actions.flatMap(withFallbacks)) {
      const kept = former?.actions.get(id);
      actions.set(id, kept ?? { success: pool.take(), failed: pool.take() });
    }
    const matched = former?.matched ?? pool.take();
    const rate = former?.rate ?? new Rate(0, nowMs());
    const revision = ++this.#revision;
    this.#order = Math.max(this.#order, record.order);
    this.#rules.set(record.id, { record, events, revision, matched, actions, rate });
    const gone = [...(former?.actions ?? [])].filter(([id]) => !actions.has(id));
    return gone.flatMap(([, { success, failed }]) => [success, failed]);
  }

  /** As `write`; undefined: there is none. */
  delete(id: string): readonly number[] | undefined {
    const rule = this.#rules.get(id);
    if (rule === undefined) return undefined;
    this.#parts.records.delete(id);
    this.#rules.delete(id);
    return [rule.matched, ...columnsOf(rule)];
  }

  reset(rule: KeptRule): void {
    const { pool, nowMs } = this.#parts;
    for (const column of [rule.matched, ...columnsOf(rule)]) pool.reset(column);
    rule.rate = new Rate(0, nowMs());
  }

  sample(): void {
    const { pool, nowMs } = this.#parts;
    for (const { rate, matched } of this.#rules.values()) rate.sample(pool.value(matched), nowMs());
  }

  orders(): readonly RuleOrder[] {
    return this.all()
      .filter(({ record }) => record.enabled)
      .map(({ record, revision, matched, actions }) => ({
        ...{ id: record.id, revision, rawsql: record.rawsql, for: record.for },
        onActionFailed: record.onActionFailed,
        actions: record.actions.map((action) => orderOf(action, actions)),
        matchedColumn: matched,
      }));
  }

  /** Of rules that are not enabled. */
  idleColumns(): readonly number[] {
    const idle = [...this.#rules.values()].filter(({ record }) => !record.enabled);
    return idle.flatMap((rule) => [rule.matched, ...columnsOf(rule)]);
  }

  view({ record, events, matched, actions, rate }: KeptRule): RuleView {
    const { pool, nodeName } = this.#parts;
    const { id, name, rawsql, enabled, description, onActionFailed } = record;
    return {
      ...{ id, name, for: events, rawsql, enabled, description, onActionFailed },
      actions: record.actions.map((action) => this.#actionView(action, actions)),
      metrics: [
        {
          node: nodeName,
          matched: pool.value(matched),
          speed: rate.speed,
          speed_max: rate.speedMax,
          speed_last5m: rate.speedLast5m,
        },
      ],
    };
  }

  #actionView(
    { id, name, params, fallbacks }: ActionRecord,
    columns: ReadonlyMap<string, ActionColumns>,
  ): ActionInstanceView {
    const { pool, nodeName } = this.#parts;
    const { success, failed } = columns.get(id) as ActionColumns;
    return {
      ...{ id, name, params },
      fallbacks: fallbacks.map((one) => this.#actionView(one, columns)),
      metrics: [{ node: nodeName, success: pool.value(success), failed: pool.value(failed) }],
    };
  }
}

function columnsOf({ actions }: KeptRule): readonly number[] {
  return [...actions.values()].flatMap(({ success, failed }) => [success, failed]);
}

function orderOf(
  { id, name, params, fallbacks }: ActionRecord,
  columns: ReadonlyMap<string, ActionColumns>,
): ActionOrder {
  const { success, failed } = columns.get(id) as ActionColumns;
  const own = fallbacks.map((one) => orderOf(one, columns));
  return { id, name, params, fallbacks: own, successColumn: success, failedColumn: failed };
}
