// The plugins of one worker: brought to what the control thread says is to run here, each time that it says
// so. Laws: a plugin that is read anew replaces its former self within one turn, so that no door stands
// open in between; one that cannot start leaves what was there; and where one that guards a door cannot run
// in a worker that is about to let people in, it lets nobody in.

import { CalmLog } from '#base/calm-log';
import { describeMistake } from '#base/errors';
import type { HookWish } from '#hooks/runner';
import { type HookName, hookNames } from '#hooks/table';
import { judgeAccess } from '#core/access';
import type { Broker } from '#core/broker';
import { Message } from '#core/message';
import { Belongings } from './belongings.ts';
import { loadPluginCode, partOf } from './code.ts';
import { PluginCounters } from './counters.ts';
import { AnswerTable } from './answer-table.ts';
import { startedInTime } from './start-limit.ts';
import { handedOut, owningStrays } from './strays.ts';
import { Watches } from './watches.ts';
import type { PluginMessage, SharedListener, WorkerContext } from './worker-context.ts';

/** A plugin that is to run, as it goes from thread to thread. */
export interface PluginOrder {
  readonly name: string;
  readonly folder: string;
  readonly reading: number;
  /** It guards a door: where it cannot run nobody is let in. */
  readonly isVital: boolean;
  /** Another one for each start: the same code with other settings is started anew. */
  readonly start: number;
  readonly settings: unknown;
  readonly metrics: readonly string[];
  readonly counters: SharedArrayBuffer;
  readonly shared: { readonly value: unknown } | undefined;
}

export interface WorkerHostParts {
  readonly broker: Broker;
  /** Of this worker. */
  readonly index: number;
  /** `isLong`: only the end of the other thread ends the wait. */
  readonly ask: (
    plugin: string,
    question: string,
    args: readonly unknown[],
    isLong?: boolean,
  ) => Promise<unknown>;
}

export interface HeldHere {
  readonly hooks: readonly HookName[];
  /** Timers, watched filters, and whatever has to be undone. */
  readonly belongings: number;
}

interface Running {
  readonly order: PluginOrder;
  readonly counters: PluginCounters;
  readonly belongings: Belongings;
  readonly watches: Watches;
  readonly listeners: SharedListener[];
  readonly answers: AnswerTable;
  shared: { readonly value: unknown } | undefined;
}

/** What a part registers until it has started. */
interface Start {
  readonly wishes: HookWish[];
  /** What is done with what was shared before. */
  readonly taken: Promise<void>[];
  isOver: boolean;
}

export class WorkerHost {
  readonly #parts: WorkerHostParts;
  readonly #running = new Map<string, Running>();
  /** Not among those yet, and told what is shared all the same. */
  #starting: Running | undefined;
  /** Doors whose guards cannot run. */
  readonly #barred = new Set<string>();
  readonly #calm: CalmLog;
  #isFresh = true;
  /** One change at a time. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(parts: WorkerHostParts) {
    this.#parts = parts;
    this.#calm = new CalmLog(parts.broker.core.log, parts.broker.core.clock);
    parts.broker.hooks.onFailure = (owner) => {
      this.#running.get(owner)?.counters.failed(parts.index);
    };
  }

  /** Exactly these run from now on. Answers those that cannot, with the reason. */
  run(orders: readonly PluginOrder[]): Promise<readonly (readonly [string, string])[]> {
    const done = this.#last.then(() => this.#run(orders));
    this.#last = done.catch(() => undefined);
    return done;
  }

  async #run(orders: readonly PluginOrder[]): Promise<(readonly [string, string])[]> {
    const wanted = new Set(orders.map(({ name }) => name));
    for (const [name, running] of this.#running) if (!wanted.has(name)) await this.#stop(running);
    for (const name of this.#barred) if (!wanted.has(name)) this.#unbar(name);
    const failed: (readonly [string, string])[] = [];
    for (const order of orders) {
      const former = this.#running.get(order.name);
      if (former?.order.start === order.start) continue;
      try {
        await this.#start(order, former);
      } catch (error) {
        const { log } = this.#parts.broker.core;
        const text = describeMistake(error);
        log.error('plugin.failed', { plugin: order.name, error: text });
        failed.push([order.name, text]);
        if (this.#isFresh && order.isVital) this.#bar(order.name);
      }
    }
    this.#isFresh = false;
    return failed;
  }

  /** Nobody is let in without the plugin that would have to be asked. */
  #bar(name: string): void {
    this.#barred.add(name);
    const refuse = (): never => {
      throw new Error(`plugin ${name} cannot run in this worker`);
    };
    for (const door of ['client.authenticate', 'client.enhanced_auth'] as const) {
      this.#parts.broker.hooks.on(door, name, refuse, Number.MAX_SAFE_INTEGER);
    }
  }

  #unbar(name: string): void {
    this.#barred.delete(name);
    this.#parts.broker.hooks.off(name);
  }

  /** What plugins hold in this worker, by name; also of those that should hold nothing any more. */
  held(): Record<string, HeldHere> {
    const { hooks } = this.#parts.broker;
    const held = new Map<string, HeldHere>();
    for (const [name, { belongings, watches }] of this.#running) {
      held.set(name, { hooks: [], belongings: belongings.count + watches.count });
    }
    for (const hook of hookNames) {
      for (const { owner } of hooks.listeners(hook) ?? []) {
        const { hooks: before, belongings } = held.get(owner) ?? { hooks: [], belongings: 0 };
        held.set(owner, { hooks: [...before, hook], belongings });
      }
    }
    return Object.fromEntries(held);
  }

  /** Resolves when it has been taken up. */
  async share(name: string, value: unknown): Promise<void> {
    const taken: Promise<void>[] = [];
    for (const running of [this.#running.get(name), this.#starting]) {
      if (running?.order.name !== name) continue;
      running.shared = { value };
      for (const listener of running.listeners) {
        taken.push(this.#guarded(running, () => listener(value)));
      }
    }
    await Promise.all(taken);
  }

  /** The control part of a plugin asks this part of it. */
  async answer(name: string, question: string, args: readonly unknown[]): Promise<unknown> {
    const running = this.#running.get(name);
    if (running === undefined) throw new TypeError(`Cannot ask ${name}: it does not run here`);
    return running.answers.ask(question, args);
  }

  async #start(order: PluginOrder, former: Running | undefined): Promise<void> {
    const { folder, reading, metrics } = order;
    const { broker, index } = this.#parts;
    const counters = new PluginCounters(metrics, order.counters);
    const failed = (error: unknown): void => this.#failed(running, error);
    const running: Running = {
      order,
      counters,
      belongings: new Belongings(broker.core.clock, failed),
      watches: new Watches(broker.core.filters, failed),
      listeners: [],
      answers: new AnswerTable(order.name),
      shared: order.shared,
    };
    const start: Start = { wishes: [], taken: [], isOver: false };
    this.#starting = running;
    try {
      const context = this.#context(running, start);
      const started = owningStrays(folder, failed, async () => {
        const { worker } = await loadPluginCode(folder, reading);
        const part = await worker?.();
        if (part !== undefined) await partOf(part, 'worker')(context);
        await Promise.all(start.taken);
      });
      await startedInTime(broker.core.clock, started);
      this.#putInPlace(running, former, start.wishes);
    } catch (error) {
      counters.failed(index);
      await running.belongings.release();
      throw error;
    } finally {
      this.#starting = undefined;
      start.isOver = true;
    }
    await former?.belongings.release();
  }

  #putInPlace(running: Running, former: Running | undefined, wishes: readonly HookWish[]): void {
    const { hooks } = this.#parts.broker;
    const { name } = running.order;
    hooks.replace(name, wishes);
    former?.watches.end();
    running.watches.place();
    this.#barred.delete(name);
    this.#running.set(name, running);
    this.#parts.broker.core.rights.forgetAll();
  }

  async #stop(running: Running): Promise<void> {
    const { name } = running.order;
    this.#running.delete(name);
    this.#parts.broker.hooks.off(name);
    running.watches.end();
    this.#parts.broker.core.rights.forgetAll();
    await running.belongings.release();
  }

  #context(running: Running, start: Start): WorkerContext {
    const { order, counters, belongings, listeners, answers } = running;
    const { broker, index, ask } = this.#parts;
    const { core, hooks } = broker;
    const handed = <T>(promise: Promise<T>): Promise<T> =>
      handedOut(promise, (error) => this.#failed(running, error));
    return {
      settings: order.settings,
      log: core.log.child({ plugin: order.name }),
      clock: core.clock,
      signal: belongings.signal,
      nodeName: core.settings.node.name,
      worker: index,
      hookDeadlineMs: core.settings.pluginHost.hookDeadlineMs,
      hooks: {
        on(hook, call, priority) {
          if (!start.isOver) start.wishes.push({ hook, call, priority });
          else if (!belongings.signal.aborted) hooks.on(hook, order.name, call, priority);
          else throw new TypeError(`Cannot hook "${hook}": the plugin is unloaded`);
        },
        replace(wanted) {
          if (!start.isOver) start.wishes.splice(0, start.wishes.length, ...wanted);
          else if (!belongings.signal.aborted) hooks.replace(order.name, wanted);
          else throw new TypeError('Cannot replace hooks: the plugin is unloaded');
        },
      },
      watch: (filter, call) => running.watches.add(filter, call),
      count: (metric, by = 1) => counters.add(index, metric, by),
      every: (ms, call) => belongings.every(ms, call),
      after: (ms, call) => belongings.after(ms, call),
      defer: (undo) => belongings.defer(undo),
      ask: (question, ...args) => handed(ask(order.name, question, args)),
      askLong: (question, ...args) => ask(order.name, question, args, true),
      answers: (table) => answers.add(table),
      onShared: (call) => {
        listeners.push(call);
        if (running.shared === undefined) return;
        const taken = Promise.resolve(call(running.shared.value));
        if (start.isOver) void this.#guarded(running, () => taken);
        else start.taken.push(taken);
        // The start that waits for it may have something else to wait for before.
        taken.catch(() => undefined);
      },
      publish: async (message) =>
        handed(broker.publish(messageOf(message, core.settings.node.name, core.clock))),
      kick: (clientId) => broker.kick(clientId),
      judge: (client, action, topic) => handed(judgeAccess(core, client, action, topic)),
      forgetRights: (clientId) => broker.forgetRights(clientId),
    };
  }

  async #guarded(running: Running, call: () => unknown): Promise<void> {
    try {
      await call();
    } catch (error) {
      this.#failed(running, error);
    }
  }

  #failed({ order, counters }: Running, error: unknown): void {
    counters.failed(this.#parts.index);
    this.#calm.error(order.name, 'plugin.failed', () => {
      return { plugin: order.name, error: describeMistake(error) };
    });
  }
}

function messageOf(
  { topic, payload, qos = 0, retain = false, properties, clientId, hops }: PluginMessage,
  nodeName: string,
  clock: { nowMs(): number },
): Message {
  const from = {
    ...{ clientId: clientId ?? nodeName, username: undefined, address: '', port: 0 },
    ...(hops !== undefined && { hops }),
  };
  const bytes = typeof payload === 'string' ? Buffer.from(payload) : Buffer.from(payload);
  return new Message(topic, bytes, qos, retain, properties, from, clock.nowMs());
}
