// The rules of one worker, brought to what the control thread says each time that it says so: what is new is
// compiled, what is gone leaves, what is the same stays untouched. Laws: messages are watched by filter and
// all other events hooked only while some rule is about them, so that what no rule wants costs nothing; all
// rules that see one thing share what was read of it.

import { describeError } from '#base/errors';
import type { Logger } from '#base/log';
import type { HookWish } from '#hooks/runner';
import type { MessageView } from '#hooks/table';
import type { RuleMessage } from './actions/action.ts';
import { eventHooks } from './event-hooks.ts';
import { type EventName, eventNamed, TableRecord } from './events.ts';
import { Happening } from './happening.ts';
import { LiveRule, type RuleMetric } from './live-rule.ts';
import type { ResourceJob } from './resources/job.ts';
import { CounterRows } from './rule-counters.ts';
import type { ActionOrder, RuleOrder, RulesOrder } from './rule-order.ts';
import type { InspectSeen } from './rule-service.ts';
import { TopicIndex } from './topic-index.ts';

/** What a worker gives its rules. */
export interface RuleSetParts {
  readonly nodeName: string;
  /** Its index among all that count. */
  readonly thread: number;
  readonly log: Logger;
  readonly nowMs: () => number;
  /** `$SYS/` is not looked at. */
  readonly isSysIgnored: boolean;
  watch(filter: string | undefined, call: (message: MessageView) => void): () => void;
  /** Exactly these hooks from now on. */
  setHooks(wishes: readonly HookWish[]): void;
  readonly publish: (message: RuleMessage) => Promise<unknown>;
  readonly perform: (job: ResourceJob) => Promise<unknown>;
  readonly count: (metric: RuleMetric) => void;
  readonly onSight: (seen: InspectSeen) => void;
  readonly after: (ms: number, call: () => void) => unknown;
}

/** Whoever wants to see events: a rule, or somebody who tries one out. */
export interface EventListener {
  /** Filters of topics by event; undefined: all topics. */
  readonly interests: ReadonlyMap<EventName, readonly string[] | undefined>;
  onEvent(event: EventName, topic: string | undefined, record: TableRecord): void;
}

export class RuleSet {
  readonly #parts: RuleSetParts;
  readonly #rows: CounterRows;
  readonly #rules = new Map<string, { readonly rule: LiveRule; readonly leave: () => void }>();
  readonly #indexes = new Map<EventName, TopicIndex<EventListener>>();
  #hooked = '';
  #isInspected = false;
  /** The last message and what was read of it: all that watch it are called one after the other. */
  #lastMessage: MessageView | undefined;
  #lastRecord: TableRecord | undefined;

  constructor(parts: RuleSetParts) {
    this.#parts = parts;
    this.#rows = new CounterRows(parts.thread);
  }

  get size(): number {
    return this.#rules.size;
  }

  apply({ rules, memory, idleColumns, isInspected }: RulesOrder): void {
    this.#rows.use(memory);
    this.#rows.keepOnly(new Set([...rules.flatMap(columnsOf), ...idleColumns]));
    this.#isInspected = isInspected;
    const wanted = new Map(rules.map((order) => [order.id, order]));
    for (const [id, { rule, leave }] of this.#rules) {
      if (wanted.get(id)?.revision === rule.order.revision) continue;
      rule.end();
      leave();
      this.#rules.delete(id);
    }
    for (const order of rules) if (!this.#rules.has(order.id)) this.#enter(order);
    this.#rehook();
  }

  #enter(order: RuleOrder): void {
    const { log, nowMs, publish, perform, count, onSight, after } = this.#parts;
    const sight = (): typeof onSight | undefined => (this.#isInspected ? onSight : undefined);
    const env = { log, nowMs, publish, perform, onSight: sight };
    try {
      const rule = new LiveRule(order, { rows: this.#rows, env, count, after });
      this.#rules.set(order.id, { rule, leave: this.#listen(rule) });
    } catch (error) {
      // The control thread has compiled it before: it would be our fault, and the others go on.
      log.error('rule.not_run', { rule: order.id, error: describeError(error) });
    }
  }

  /** Answers how to leave. */
  listen(listener: EventListener): () => void {
    const leave = this.#listen(listener);
    this.#rehook();
    return () => {
      leave();
      this.#rehook();
    };
  }

  #listen(listener: EventListener): () => void {
    const undo: (() => void)[] = [];
    for (const [event, filters] of listener.interests) {
      if (event === 'message.publish') {
        const call = (message: MessageView): void => this.#onMessage(listener, message);
        for (const filter of filters ?? [undefined]) undo.push(this.#parts.watch(filter, call));
      } else {
        const index = this.#indexOf(event);
        index.add(filters, listener);
        undo.push(() => index.remove(filters, listener));
      }
    }
    return () => {
      for (const one of undo) one();
    };
  }

  #indexOf(event: EventName): TopicIndex<EventListener> {
    let index = this.#indexes.get(event);
    if (index === undefined) {
      index = new TopicIndex();
      this.#indexes.set(event, index);
    }
    return index;
  }

  #rehook(): void {
    const wanted = [...this.#indexes].filter(([, index]) => !index.isEmpty).map(([event]) => event);
    const hooked = wanted.toSorted().join(' ');
    if (hooked === this.#hooked) return;
    this.#hooked = hooked;
    const { nodeName, nowMs } = this.#parts;
    this.#parts.setHooks(
      eventHooks(new Set(wanted), {
        ...{ nodeName, nowMs },
        tell: (event, topic, happening) => this.#onHappening(event, topic, happening),
      }),
    );
  }

  #onMessage(listener: EventListener, message: MessageView): void {
    if (this.#isIgnored(message.topic)) return;
    if (message !== this.#lastMessage || this.#lastRecord === undefined) {
      const { nodeName, nowMs } = this.#parts;
      this.#lastRecord = recordOf(
        'message.publish',
        new Happening(nodeName, nowMs(), message, undefined),
      );
      this.#lastMessage = message;
    }
    this.#tell(listener, 'message.publish', message.topic, this.#lastRecord);
  }

  #onHappening(event: EventName, topic: string | undefined, happening: Happening): void {
    if (event === 'message.dropped' && this.#isIgnored(topic)) return;
    let record: TableRecord | undefined;
    for (const listener of this.#indexes.get(event)?.find(topic) ?? []) {
      record ??= recordOf(event, happening);
      this.#tell(listener, event, topic, record);
    }
  }

  #isIgnored(topic: string | undefined): boolean {
    return this.#parts.isSysIgnored && topic?.startsWith('$SYS/') === true;
  }

  /** One that throws keeps nothing from the others. */
  #tell(
    listener: EventListener,
    event: EventName,
    topic: string | undefined,
    record: TableRecord,
  ): void {
    try {
      listener.onEvent(event, topic, record);
    } catch (error) {
      const rule = listener instanceof LiveRule ? listener.order.id : undefined;
      this.#parts.log.error('rule.failed', { rule, event, error: describeError(error) });
    }
  }
}

function columnsOf({ matchedColumn, actions }: RuleOrder): readonly number[] {
  return [matchedColumn, ...actions.flatMap(columnsOfAction)];
}

function columnsOfAction({ successColumn, failedColumn, fallbacks }: ActionOrder): number[] {
  return [successColumn, failedColumn, ...fallbacks.flatMap(columnsOfAction)];
}

function recordOf(event: EventName, happening: Happening): TableRecord {
  const definition = eventNamed(event);
  if (definition === undefined) throw new TypeError(`Cannot make a record of "${event}"`);
  return new TableRecord(definition, happening);
}
