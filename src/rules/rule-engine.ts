// The rule engine of a node as management has it: rules are checked, kept, and told to all workers. Laws:
// whoever is answered finds his change in force everywhere; many changes at once are told together; columns
// of what is gone are free only when no worker counts there any more.

import type { RecordStore } from '#core/store-port';
import type { Logger } from '#base/log';
import { actionNamed, actionViews, viewOf } from './actions/action-table.ts';
import { events, eventView } from './events.ts';
import { CounterPool } from './rule-counters.ts';
import { named, RuleFault } from './rule-fault.ts';
import type { RecordingOrder, RulesOrder } from './rule-order.ts';
import { checkResource } from './resources/check-resource.ts';
import { actionIdsOf, newRuleId, recordOf, type RuleRecord, withFallbacks } from './rule-record.ts';
import type {
  ActionView,
  EventView,
  ImportOutcome,
  InspectSeen,
  ResourcesToCome,
  RuleDocument,
  RuleService,
  RuleSpec,
  RuleView,
  SqlTest,
  TestOutput,
} from './rule-service.ts';
import { type KeptRule, RuleTable } from './rule-table.ts';
import { testSql } from './sql-test.ts';

export interface RuleEngineParts {
  readonly records: RecordStore;
  readonly flushed: () => Promise<void>;
  /** Resolves when every worker has it. */
  readonly share: (order: RulesOrder) => Promise<void>;
  readonly nodeName: string;
  readonly nowMs: () => number;
  readonly log: Logger;
  /** That count. */
  readonly threads: number;
  /** Undefined: there is no such resource. */
  readonly typeOfResource: (id: string) => string | undefined;
  /** Told how many there are, at first and after every change. */
  readonly counted: (rules: number, actions: number) => void;
}

export const rulesMax = 10_000;

export class RuleEngine implements RuleService {
  readonly #parts: RuleEngineParts;
  readonly #pool: CounterPool;
  readonly #table: RuleTable;
  readonly #watching = new Set<(seen: InspectSeen) => void>();
  #recordings: readonly RecordingOrder[] = [];
  #sharing: Promise<void> = Promise.resolve();
  #nextShare: Promise<void> | undefined;

  constructor(parts: RuleEngineParts) {
    this.#parts = parts;
    this.#pool = new CounterPool(parts.threads);
    this.#table = new RuleTable({ ...parts, pool: this.#pool });
    this.#count();
  }

  /** Workers are told what there is, and keep these events for a while, for whoever tries a statement out. */
  record(recordings: readonly RecordingOrder[]): Promise<void> {
    this.#recordings = recordings;
    return this.#share();
  }

  /** Once in 10 seconds, for rates. */
  sample(): void {
    this.#table.sample();
  }

  async create(spec: RuleSpec): Promise<RuleView> {
    if (spec.id !== undefined && this.#table.get(spec.id) !== undefined) {
      throw new RuleFault('exists', `Cannot create rule "${spec.id}": there is one already`);
    }
    this.#refuseTooMany(1);
    const id = spec.id ?? this.#freshId();
    const { record, prepared } = this.#recordOf(spec, { id, order: this.#table.nextOrder() });
    this.#table.write(record, prepared.events);
    await this.#inForce([]);
    return this.#viewOf(id);
  }

  async update(id: string, change: Partial<Omit<RuleSpec, 'id'>>): Promise<RuleView> {
    const { record: former } = this.#found(id);
    const given = Object.fromEntries(Object.entries(change).filter(([, v]) => v !== undefined));
    const spec: RuleSpec = { ...former, ...given };
    const actions = change.actions === undefined ? undefined : matched(change.actions, former);
    const whole = actions === undefined ? spec : { ...spec, actions };
    const { record, prepared } = this.#recordOf(whole, former, actionIdsOf(former));
    await this.#inForce(this.#table.write(record, prepared.events));
    return this.#viewOf(id);
  }

  async delete(id: string): Promise<boolean> {
    const gone = this.#table.delete(id);
    if (gone === undefined) return false;
    await this.#inForce(gone);
    return true;
  }

  list(): readonly RuleView[] {
    return this.#table.all().map((rule) => this.#table.view(rule));
  }

  get(id: string): RuleView | undefined {
    const rule = this.#table.get(id);
    return rule && this.#table.view(rule);
  }

  async resetMetrics(id: string): Promise<RuleView> {
    this.#table.reset(this.#found(id));
    return this.#viewOf(id);
  }

  testSql(test: SqlTest): TestOutput {
    const { nodeName, nowMs } = this.#parts;
    return testSql(test, { nodeName, nowMs: nowMs() });
  }

  actions(forEvent?: string): readonly ActionView[] {
    return actionViews(forEvent);
  }

  action(name: string): ActionView | undefined {
    const found = actionNamed(name);
    return found && viewOf(found);
  }

  events(): readonly EventView[] {
    return events.map(eventView);
  }

  export(): RuleDocument {
    const rules = this.#table.all().map(({ record }) => specOf(record));
    return { version: 1, rules };
  }

  async import(document: unknown, resources?: ResourcesToCome): Promise<ImportOutcome> {
    const typeNameOf = resources?.typeNameOf ?? this.#parts.typeOfResource;
    const specs = specsOf(document);
    const fresh = specs.filter(({ id }) => id === undefined || this.#table.get(id) === undefined);
    this.#refuseTooMany(fresh.length);
    let order = this.#table.nextOrder();
    const made = specs.map((spec) => {
      const former = spec.id === undefined ? undefined : this.#table.get(spec.id)?.record;
      const place = former ?? { id: spec.id ?? this.#freshId(), order: order++ };
      return named(`Rule ${place.id}`, () => checked(recordOf(spec, place, 'all'), typeNameOf));
    });
    const written = resources?.write();
    const gone = made.flatMap(({ record, prepared }) => this.#table.write(record, prepared.events));
    await Promise.all([written, this.#inForce(gone)]);
    return { created: fresh.length, replaced: specs.length - fresh.length };
  }

  onInspect(call: (seen: InspectSeen) => void): () => void {
    const own = (seen: InspectSeen): void => call(seen);
    this.#watching.add(own);
    if (this.#watching.size === 1) this.#shareUnawaited();
    return () => {
      if (this.#watching.delete(own) && this.#watching.size === 0) this.#shareUnawaited();
    };
  }

  /** A worker has seen something. */
  inspected(seen: InspectSeen): void {
    for (const call of this.#watching) call(seen);
  }

  /** Resources that actions name are there, too. */
  #recordOf(...asked: Parameters<typeof recordOf>): ReturnType<typeof recordOf> {
    return checked(recordOf(...asked), this.#parts.typeOfResource);
  }

  /** A rule one of whose actions needs the resource. */
  userOf(resource: string): string | undefined {
    return this.#table.all().find(({ record }) => {
      const all = record.actions.flatMap(withFallbacks);
      return all.some(({ params }) => params['$resource'] === resource);
    })?.record.id;
  }

  #found(id: string): KeptRule {
    const rule = this.#table.get(id);
    if (rule === undefined) throw new RuleFault('not_found', `Rule ${id} Not Found`);
    return rule;
  }

  #viewOf(id: string): RuleView {
    return this.#table.view(this.#found(id));
  }

  #freshId(): string {
    let id = newRuleId();
    while (this.#table.get(id) !== undefined) id = newRuleId();
    return id;
  }

  #refuseTooMany(more: number): void {
    if (this.#table.size + more <= rulesMax) return;
    throw new RuleFault('too_many', `Cannot create a rule: the limit of ${rulesMax} is reached`);
  }

  #count(): void {
    this.#parts.counted(this.#table.size, this.#table.actionCount);
  }

  async #inForce(gone: readonly number[]): Promise<void> {
    this.#count();
    await Promise.all([this.#parts.flushed(), this.#share()]);
    for (const column of gone) this.#pool.giveBack(column);
  }

  /** Whoever watches is shown nothing if it fails, and the next change tells workers anew. */
  #shareUnawaited(): void {
    this.#share().catch(() => undefined);
  }

  /** While workers are being told, whoever comes waits together for the next time. */
  #share(): Promise<void> {
    this.#nextShare ??= this.#sharing.then(() => {
      this.#nextShare = undefined;
      const sharing = this.#parts.share({
        rules: this.#table.orders(),
        memory: this.#pool.memory,
        idleColumns: this.#table.idleColumns(),
        isInspected: this.#watching.size > 0,
        recordings: this.#recordings,
      });
      this.#sharing = sharing.catch(() => undefined);
      return sharing;
    });
    return this.#nextShare;
  }
}

function checked(
  made: ReturnType<typeof recordOf>,
  typeNameOf: (id: string) => string | undefined,
): ReturnType<typeof recordOf> {
  for (const { name, params } of made.record.actions.flatMap(withFallbacks)) {
    const definition = actionNamed(name);
    if (definition !== undefined) checkResource(definition, params['$resource'], typeNameOf);
  }
  return made;
}

/** Its place among the others is that of where it is. */
function specOf(record: RuleRecord): RuleDocument['rules'][number] {
  const { order: _order, ...spec } = record;
  return spec;
}

/** An action without an id is the former one of the same name at the same place: it goes on counting. */
function matched(actions: unknown, former: RuleRecord): RuleSpec['actions'] {
  if (!Array.isArray(actions)) return actions as RuleSpec['actions'];
  return actions.map((action: RuleSpec['actions'][number], i) => {
    const before = former.actions[i];
    const isSame = action?.id === undefined && before !== undefined && action?.name === before.name;
    return isSame ? { ...action, id: before.id } : action;
  });
}

/** Ids are not repeated: which of two would it be? */
function specsOf(document: unknown): readonly RuleSpec[] {
  const { version, rules } = (document ?? {}) as Partial<RuleDocument>;
  if (version !== 1 || !Array.isArray(rules)) {
    const wanted = 'expected {"version": 1, "rules": […]} as an export has it';
    throw new RuleFault('bad_rule', `Cannot import rules: ${wanted}`);
  }
  const ids = new Set<unknown>();
  for (const rule of rules as readonly unknown[]) {
    if (typeof rule !== 'object' || rule === null) {
      throw new RuleFault('bad_rule', 'Cannot import rules: expected objects');
    }
    const { id } = rule as Partial<RuleSpec>;
    if (id !== undefined && ids.has(id)) {
      throw new RuleFault('bad_rule', `Cannot import rules: "${String(id)}" is there twice`);
    }
    ids.add(id);
  }
  return rules;
}
