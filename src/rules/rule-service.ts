// What the rule engine can be asked by management: rules, what they may be made of, how often they matched.
// Laws: what is answered is plain data; what cannot be done throws a RuleFault, and changes nothing.

export { RuleFault, type RuleFaultKind } from './rule-fault.ts';

export interface RuleService {
  /** Answers when it is kept and every worker has it. */
  create(spec: RuleSpec): Promise<RuleView>;
  /** What is not named stays; so do the id and what was counted. Throws `not_found`. */
  update(id: string, change: Partial<Omit<RuleSpec, 'id'>>): Promise<RuleView>;
  /** False: there was none. */
  delete(id: string): Promise<boolean>;
  /** In the order in which they were created. */
  list(): readonly RuleView[];
  get(id: string): RuleView | undefined;
  /** What the rule and its actions have counted begins at 0 again. Throws `not_found`. */
  resetMetrics(id: string): Promise<RuleView>;
  /**
   * Runs a statement against a sample of its first event, with these columns in place of the sample's.
   * Nothing is stored and no action runs. Throws `no_match`, with the reason, where there is no output.
   */
  testSql(test: SqlTest): TestOutput;
  /** All of them; or those that are for an event or a group: `$message`, `$client`, `$session`, `$any`. */
  actions(forEvent?: string): readonly ActionView[];
  /** By either form of its name. */
  action(name: string): ActionView | undefined;
  /** In the order of the interface, ours behind them. */
  events(): readonly EventView[];
  export(): RuleDocument;
  /**
   * All or none: throws before anything is changed. Rules with the same id are replaced. `resources`: that
   * come with them, and are written with them.
   */
  import(document: unknown, resources?: ResourcesToCome): Promise<ImportOutcome>;
  /**
   * Told what the action `inspect` of any rule sees, in any worker, while somebody listens. Answers how to
   * stop.
   */
  onInspect(call: (seen: InspectSeen) => void): () => void;
}

export interface RuleSpec {
  /** `rule:` and 8 hexadecimal digits without a word; throws `exists` where it is taken. */
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  /** The event that the older form names besides topics in FROM; one, or those that FROM names. */
  readonly for?: string | readonly string[] | undefined;
  readonly rawsql: string;
  readonly actions: readonly ActionSpec[];
  readonly description?: string | undefined;
  /** true without a word. */
  readonly enabled?: boolean | undefined;
  /** continue without a word: the other actions run all the same. */
  readonly onActionFailed?: OnActionFailed | undefined;
}

export type OnActionFailed = 'continue' | 'stop';

export interface ActionSpec {
  /** Kept in an update where it is that of an action of the rule; counters go on then. */
  readonly id?: string | undefined;
  /** `republish`, or `built_in:republish_action`. */
  readonly name: string;
  readonly params?: Readonly<Record<string, unknown>> | undefined;
  /** Run in their order when the action fails; they have none themselves. */
  readonly fallbacks?: readonly ActionSpec[] | undefined;
}

export interface RuleView {
  readonly id: string;
  readonly name: string | undefined;
  /** Events, by their dotted names. */
  readonly for: readonly string[];
  readonly rawsql: string;
  readonly actions: readonly ActionInstanceView[];
  readonly enabled: boolean;
  readonly description: string;
  readonly onActionFailed: OnActionFailed;
  readonly metrics: readonly RuleMetrics[];
}

export interface ActionInstanceView {
  readonly id: string;
  readonly name: string;
  /** With defaults filled in. */
  readonly params: Readonly<Record<string, unknown>>;
  readonly fallbacks: readonly ActionInstanceView[];
  readonly metrics: readonly ActionMetrics[];
}

/** Since the broker started; as the interface names them. */
export interface RuleMetrics {
  readonly node: string;
  readonly matched: number;
  /** Per second, over the last 10 seconds. */
  readonly speed: number;
  readonly speed_max: number;
  readonly speed_last5m: number;
}

export interface ActionMetrics {
  readonly node: string;
  readonly success: number;
  readonly failed: number;
}

export interface SqlTest {
  readonly rawsql: string;
  readonly ctx?: Readonly<Record<string, unknown>> | undefined;
  readonly for?: string | readonly string[] | undefined;
}

/** A list for FOREACH. */
export type TestOutput = Readonly<Record<string, unknown>> | readonly unknown[];

/** As the interface shows them: titles and descriptions by language. */
export interface Words {
  readonly en: string;
  readonly zh: string;
}

export interface ActionView {
  readonly name: string;
  /** `built_in:republish_action` */
  readonly olderName: string;
  readonly app: string;
  /** An event, `$any`, `$events` … */
  readonly for: string;
  /** Of resources that it needs one of; empty: none. */
  readonly types: readonly string[];
  /** In their order. */
  readonly params: Readonly<Record<string, ParamView>>;
  readonly title: Words;
  readonly description: Words;
}

export interface ParamView {
  readonly order: number;
  readonly type: 'string' | 'number' | 'boolean' | 'object' | 'array';
  readonly required: boolean;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly format?: string;
  readonly range?: readonly [min: number, max: number];
  readonly input?: 'textarea';
  /** Never shown: of an object those members whose names say so. */
  readonly secret?: boolean;
  /** Of an object: its members. Empty: any. */
  readonly schema?: Readonly<Record<string, ParamView>>;
  readonly title: Words;
  readonly description: Words;
}

export interface EventView {
  readonly event: string;
  readonly title: Words;
  readonly description: Words;
  readonly test_columns: Readonly<Record<string, unknown>>;
  readonly columns: readonly string[];
  readonly sql_example: string;
}

/** Everything that has to be kept of rules, without what was counted. */
export interface RuleDocument {
  readonly version: 1;
  readonly rules: readonly (Required<Pick<RuleSpec, 'id'>> & RuleSpec)[];
}

/** Checked, and not written yet. */
export interface ResourcesToCome extends ImportOutcome {
  /** Undefined: there is none, and none to come. */
  readonly typeNameOf: (id: string) => string | undefined;
  /** At once; resolves when they are in force. */
  write(): Promise<void>;
}

export interface ImportOutcome {
  readonly created: number;
  readonly replaced: number;
}

/** Sights of a rule that were too many to be shown. */
export interface InspectLoss {
  readonly ruleId: string;
  readonly lost: number;
}

export type InspectSeen = InspectSight | InspectLoss;

export interface InspectSight {
  readonly ruleId: string;
  readonly actionId: string;
  readonly atMs: number;
  readonly selected: unknown;
  /** All columns of the event. */
  readonly event: Readonly<Record<string, unknown>>;
  readonly params: Readonly<Record<string, unknown>>;
}
