// Workers that are nothing but their end of the calls: they write down what they are asked, answer as a
// test has told them, and die when it says so.

import { setImmediate as turn } from 'node:timers/promises';
import { MessageChannel } from 'node:worker_threads';
import { Calls } from '#base/calls';
import { VirtualClock } from '#base/clock';
import { createLog } from '#base/log';
import { type AlarmDetails, Alarms } from '#core/alarms';
import { threadStatus } from './thread-status.ts';
import { columnsOf } from './row-columns.ts';
import type { ControlCalls, LifeCalls, WorkerCalls } from './worker-calls.ts';
import { type WorkerHandle, Workers } from './workers.ts';

export class FakeWorker {
  readonly index: number;
  readonly life: number;
  readonly calls: Calls<ControlCalls, WorkerCalls>;
  readonly handle: WorkerHandle;
  /** What it answers, where a test cares. */
  readonly answers: Partial<WorkerCalls> = {};
  readonly #ended = Promise.withResolvers<Error | undefined>();
  /** The store has all that it told; nothing else is known of its store. */
  readonly storeLeft: PromiseWithResolvers<void> = Promise.withResolvers();
  isTerminated = false;
  readonly #bench: WorkersBench;

  constructor(bench: WorkersBench, index: number, life: number) {
    this.index = index;
    this.life = life;
    const { port1, port2 } = new MessageChannel();
    this.calls = new Calls<ControlCalls, WorkerCalls>({
      port: port2,
      clock: bench.clock,
      peer: 'control',
      onFault: (error) => bench.faults.push(error),
      ours: this.#ours(bench),
    });
    this.#bench = bench;
    this.handle = {
      port: port1,
      ended: this.#ended.promise,
      storeLeft: this.storeLeft.promise,
      terminate: async () => {
        this.isTerminated = true;
        this.calls.close();
        this.storeLeft.resolve();
        this.#ended.resolve(undefined);
      },
    };
  }

  get name(): string {
    return `${this.index}.${this.life}`;
  }

  die(error: Error = new Error('dead')): void {
    this.calls.close();
    if (this.#bench.isStoreQuick) this.storeLeft.resolve();
    this.#ended.resolve(error);
  }

  #ours(bench: WorkersBench): WorkerCalls {
    const { answers, name } = this;
    const seen = <Name extends keyof WorkerCalls>(call: Name, ...said: unknown[]): void => {
      bench.asked.push([name, call, ...said].join(' '));
    };
    // The verbs that its tests ask for are all it has.
    const ours: LifeCalls & Partial<WorkerCalls> = {
      restore: (ids) => {
        seen('restore', ids === undefined ? 'share' : `[${[...ids].sort().join()}]`);
        return answers.restore?.(ids) ?? { clientIds: ids ?? [] };
      },
      granted: (no) => {
        seen('granted', no);
        answers.granted?.(no);
      },
      refused: (no, why) => seen('refused', no, why),
      giveUp: (order) => {
        seen('giveUp', order.clientId, order.to);
        return answers.giveUp?.(order) ?? Promise.resolve('ended');
      },
      hasSession: async (clientId) => {
        seen('hasSession', clientId);
        return answers.hasSession?.(clientId) ?? false;
      },
      peerUp: async (index, port) => {
        seen('peerUp', index);
        port.close();
        await answers.peerUp?.(index, port);
      },
      peerDown: async (index) => {
        seen('peerDown', index);
        await answers.peerDown?.(index);
      },
      begin: (isFirst) => {
        seen('begin', isFirst);
        return answers.begin?.(isFirst) ?? 0;
      },
      listen: async (ports) => {
        seen('listen', ports === undefined ? 'anywhere' : ports.join());
        return answers.listen?.(ports) ?? ports ?? [1883];
      },
      list: (kind, from) =>
        answers.list?.(kind, from) ?? { columns: columnsOf([]), next: undefined },
      kick: (clientId) => {
        seen('kick', clientId);
        return true;
      },
      status: threadStatus,
      keepClosed: async (places) => {
        seen('keepClosed', places.join());
        await answers.keepClosed?.(places);
      },
      stop: async () => {
        seen('stop');
        await answers.stop?.();
      },
    };
    return ours as WorkerCalls;
  }
}

export class WorkersBench {
  readonly clock: VirtualClock = new VirtualClock();
  readonly alarms: Alarms;
  readonly workers: Workers;
  /** Everything that anybody was asked, as `<index>.<life> <call> …`. */
  readonly asked: string[] = [];
  readonly faults: unknown[] = [];
  readonly hopeless: Error[] = [];
  readonly forgotten: number[] = [];
  /** All that were ever started. */
  readonly started: FakeWorker[] = [];
  onSpawn: (worker: FakeWorker) => void = () => undefined;
  isStoreQuick = true;

  constructor(count: number) {
    const log = createLog('error', []);
    this.alarms = new Alarms(this.clock, log);
    this.workers = new Workers({
      count,
      clock: this.clock,
      log,
      alarms: this.alarms,
      spawn: (index) => {
        const life = this.started.filter((one) => one.index === index).length;
        const worker = new FakeWorker(this, index, life);
        this.started.push(worker);
        this.onSpawn(worker);
        return worker.handle;
      },
      forget: (index) => this.forgotten.push(index),
      onHopeless: (error) => this.hopeless.push(error),
    });
  }

  /** The details of an alarm that is raised. */
  alarm(name: string): AlarmDetails | undefined {
    return this.alarms.present().find((alarm) => alarm.name === name)?.details;
  }

  /** The one that is there now. */
  worker(index: number): FakeWorker {
    return this.started.findLast((one) => one.index === index) as FakeWorker;
  }

  /** What was asked since the last time, when everybody has had the time to say what there is. */
  async take(): Promise<string[]> {
    for (let i = 0; i < 30; i++) await turn();
    return this.asked.splice(0);
  }

  /** Of those who know nothing of each other the order does not matter. */
  async takeOf(name: string): Promise<string[]> {
    return (await this.take()).filter((line) => line.startsWith(`${name} `));
  }

  end(): void {
    for (const { calls } of this.started) calls.close();
  }
}
