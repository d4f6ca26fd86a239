// One plugin that runs, as the control thread has it: its control part, its operations, its counters, and
// the order by which workers run theirs.

import { isDeepStrictEqual } from 'node:util';
import { describeMistake } from '#base/errors';
import type { AnyOperation } from '#admin/operation';
import { AnswerTable } from '#plugin/answer-table';
import { Belongings } from '#plugin/belongings';
import { partOf } from '#plugin/code';
import type { PluginDefinition } from '#plugin/contract';
import { PluginCounters } from '#plugin/counters';
import type { FoundPlugin } from '#plugin/discover';
import { PluginGauges } from '#plugin/gauges';
import { Later } from '#plugin/later';
import { startedInTime } from '#plugin/start-limit';
import { handedOut, owningStrays } from '#plugin/strays';
import type { PluginOrder } from '#plugin/worker-host';
import type { ControlContext, PluginsControl } from './control-context.ts';
import type { HostParts } from './host-parts.ts';

/** Threads that count: the workers, and this one behind them. */
const workersMax = 256;
const publishMsMax = 30_000;

/** With the other plugins, for those that look after them. */
export type RunParts = HostParts & { readonly plugins: PluginsControl };

export interface RunOptions {
  readonly found: FoundPlugin;
  readonly definition: PluginDefinition;
  /** Another one for each start. */
  readonly start: number;
  readonly settings: unknown;
  /** Whose place it takes. */
  readonly former: PluginRun | undefined;
}

export class PluginRun {
  readonly name: string;
  readonly definition: PluginDefinition;
  readonly counters: PluginCounters;
  readonly gauges: PluginGauges;
  readonly #parts: RunParts;
  readonly #belongings: Belongings;
  readonly #answers: AnswerTable;
  readonly #order: PluginOrder;
  #shared: PluginOrder['shared'];
  /** What workers were told with its first order. */
  #told: Pick<PluginOrder, 'shared'> | undefined;
  #isPlaced = false;
  #service: unknown;
  #operations: Promise<readonly AnyOperation[]> | undefined;

  constructor(parts: RunParts, { found, definition, start, settings, former }: RunOptions) {
    const { name, folder, reading } = found;
    const metrics = Object.keys(definition.metrics ?? {});
    const counters = former?.countersFor(metrics) ?? PluginCounters.memoryFor(metrics, workersMax);
    this.#parts = parts;
    this.name = name;
    this.definition = definition;
    this.counters = new PluginCounters(metrics, counters);
    this.gauges = new PluginGauges(Object.keys(definition.gauges ?? {}));
    this.#answers = new AnswerTable(name);
    this.#belongings = new Belongings(parts.clock, (error) => this.failed(error));
    const isVital = definition.type === 'auth';
    const named = { name, folder, reading, start, isVital };
    this.#order = { ...named, settings, metrics, counters, shared: undefined };
  }

  /** What was counted goes on being counted, as long as it is the same. */
  countersFor(metrics: readonly string[]): SharedArrayBuffer | undefined {
    return isDeepStrictEqual(metrics, this.#order.metrics) ? this.#order.counters : undefined;
  }

  /** What workers are told: plain data. */
  orderNow(): PluginOrder {
    this.#told ??= { shared: this.#shared };
    return { ...this.#order, shared: this.#shared };
  }

  /** Worker parts run: from now on they hear what is shared, and what has been meanwhile. */
  async placed(): Promise<void> {
    this.#isPlaced = true;
    if (this.#told?.shared !== this.#shared) await this.#tellShared();
  }

  async #tellShared(): Promise<void> {
    await this.#parts.workers.everywhere('sharePlugin', [this.name, this.#shared?.value]);
  }

  get failures(): number {
    return this.counters.failures;
  }

  /** What the control part holds; for tests. */
  get held(): number {
    return this.#belongings.count;
  }

  async start(): Promise<void> {
    const { control } = this.definition;
    try {
      this.#service = await this.#inTime(async () => {
        // What a thread cannot be told would keep workers, and their successors, from all plugins.
        structuredClone(this.#order.settings);
        const part = await control?.();
        const start = part && (partOf(part, 'control') as (context: ControlContext) => unknown);
        return start?.(this.#context());
      });
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** Of one that has started: loaded when they are first asked for. */
  operations(): Promise<readonly AnyOperation[]> {
    this.#operations ??= this.#inTime(async () => {
      const { operations } = this.definition;
      const service = this.#service;
      const ready: unknown = service instanceof Later ? await service.make() : service;
      const part = await operations?.();
      const build = part && partOf(part, 'operations');
      return (build?.(ready as never) ?? []) as readonly AnyOperation[];
    });
    return this.#operations;
  }

  async #inTime<T>(begin: () => Promise<T>): Promise<T> {
    const started = owningStrays(this.#order.folder, (error) => this.failed(error), begin);
    try {
      return await startedInTime(this.#parts.clock, started);
    } catch (error) {
      this.counters.failed(workersMax - 1);
      throw error;
    }
  }

  async stop(): Promise<void> {
    await this.#parts.integration.leave(this);
    await this.#belongings.release();
  }

  failed(error: unknown): void {
    this.counters.failed(workersMax - 1);
    this.#parts.log.error('plugin.failed', { plugin: this.name, error: describeMistake(error) });
  }

  /** A worker part asks. */
  answer(question: string, args: readonly unknown[]): Promise<unknown> {
    return this.#answers.ask(question, args);
  }

  #context(): ControlContext {
    const { clock, log, workers, records, settings, version, alarms, figures } = this.#parts;
    const { plugins, integration } = this.#parts;
    const belongings = this.#belongings;
    const handed = <T>(promise: Promise<T>): Promise<T> =>
      handedOut(promise, (error) => this.failed(error));
    return {
      settings: this.#order.settings,
      log: log.child({ plugin: this.name }),
      clock,
      signal: belongings.signal,
      nodeName: settings.node.name,
      version,
      dataDir: settings.node.dataDir,
      count: (metric, by = 1) => this.counters.add(workersMax - 1, metric, by),
      gauge: (gauge, count) => this.gauges.set(gauge, count),
      every: (ms, call) => belongings.every(ms, call),
      after: (ms, call) => belongings.after(ms, call),
      defer: (undo) => belongings.defer(undo),
      records: (kind) => records.records(`${this.name}.${kind}`),
      flushed: () => handed(records.flushed()),
      answers: (table) => this.#answers.add(table),
      askWorkers: (question, ...args) =>
        workers.everywhere('askPlugin', [this.name, question, args]),
      share: async (value) => {
        this.#shared = { value: structuredClone(value) };
        if (this.#isPlaced) await handed(this.#tellShared());
      },
      publish: async ({ topic, payload, qos = 0, retain = false, clientId, properties, hops }) => {
        const bytes = typeof payload === 'string' ? Buffer.from(payload) : payload;
        const order = { topic, payload: bytes, qos, retain, clientId, properties, hops };
        return handed(workers.anywhere('publish', [order], publishMsMax));
      },
      kick: async (clientId) =>
        (await handed(workers.atClient(clientId, 'kick', [clientId]))) === true,
      alarms,
      integration: {
        call: (...asked) => integration.call(...asked),
        uphold: (orders, options) => integration.uphold(orders, options, this),
      },
      figures,
      plugins,
    };
  }
}
