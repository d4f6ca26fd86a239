// The workers of a node as the control thread sees them: started, connected with each other, asked,
// and started again when one dies. Laws: a client id has one owner, whatever dies; a successor reads
// the store when everything that its predecessor told is there and nobody speaks for it any more; a
// worker that dies again and again ends the node, which could not keep its promises.

import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { CallError, Calls } from '#base/calls';
import type { Clock } from '#base/clock';
import { describeError } from '#base/errors';
import { writeRelayed } from '#base/log-relay';
import type { RootLogger } from '#base/log';
import type { Alarms } from '#core/alarms';
import { StoreDamaged } from '#store/store-damaged';
import { type GivenUp, type GiveUp, Registry } from '#cluster/registry';
import { Asking } from './asking.ts';
import { NodeAlarms } from './node-alarms.ts';
import type { ControlCalls, WorkerCalls } from './worker-calls.ts';

/** A worker that was started and has not been asked anything yet. */
export interface WorkerHandle {
  /** The control thread's end. */
  readonly port: MessagePort;
  /** It is over, by itself; with what ended it. */
  readonly ended: Promise<Error | undefined>;
  /** All that it told the store before it died has been written or refused. */
  readonly storeLeft: Promise<void>;
  /** Ends it, however busy it is. */
  terminate(): Promise<void>;
}

export interface WorkersParts {
  readonly count: number;
  readonly clock: Clock;
  readonly log: RootLogger;
  readonly alarms: Alarms;
  readonly spawn: (index: number) => WorkerHandle;
  /** What it counted as present is not there any more. */
  readonly forget: (index: number) => void;
  /** The node cannot go on. */
  readonly onHopeless: (error: Error) => void;
}

export interface StartReport {
  readonly ports: readonly number[];
  readonly sessions: number;
  readonly wills: number;
}

interface Seat {
  readonly index: number;
  handle: WorkerHandle;
  calls: Calls<WorkerCalls, ControlCalls>;
  isUp: boolean;
}

/** Restoring a million sessions takes its time; what takes longer than this never ends. */
const startMsMax = 300_000;
const answerMsMax = 30_000;
const stopMsMax = 10_000;
/** So many deaths within so long are too many; a worker that has lived so long is well again. */
const deathsMax = 5;
const deathsMs = 60_000;

export class Workers {
  readonly registry: Registry;
  readonly asking: Asking;
  readonly #parts: WorkersParts;
  readonly #alarms: NodeAlarms;
  readonly #seats: Seat[] = [];
  #ports: readonly number[] | undefined;
  #deaths: number[] = [];
  #isStopping = false;
  /** Successors that have taken up their sessions and are not let in yet. */
  readonly #restored = new Map<Seat, readonly string[]>();
  /** Orders to give up that are open, and the end of the connecting that is under way. */
  readonly #orders = new Set<Promise<unknown>>();
  #connecting: Promise<void> | undefined;
  /** While the node starts. */
  #onDeath: ((error: Error) => void) | undefined;
  /** One recovery after another. */
  #recovery: Promise<void> = Promise.resolve();

  constructor(parts: WorkersParts) {
    this.#parts = parts;
    this.#alarms = new NodeAlarms(parts.alarms);
    this.asking = new Asking({
      clock: parts.clock,
      workers: () => this.#seats,
      // Alone, a worker does not claim ids.
      ownerOf: (clientId) => (parts.count === 1 ? 0 : this.registry.ownerOf(clientId)),
    });
    this.registry = new Registry({
      clock: parts.clock,
      ask: (worker, order) => this.#ask(worker, order),
      onFault: (error) => {
        // What is under way when the node stops is not a failure.
        if (this.#isStopping) return;
        parts.log.error('registry.failed', { error: describeError(error) });
      },
    });
  }

  /**
   * Starts all, has them take up what the last process left, and opens the listeners; `before` that is
   * the last moment in which nobody has been let in.
   */
  async start(before: () => Promise<void> = async () => undefined): Promise<StartReport> {
    const { count } = this.#parts;
    for (let index = 0; index < count; index++) this.#seats.push(this.#seat(index));
    // A worker that dies at the start says why; those who called it only that it is gone.
    const died = Promise.withResolvers<never>();
    this.#onDeath = died.reject;
    const all = this.#startAll(before).catch((error: unknown) => {
      // Its port closes a moment before its end is known.
      if (error instanceof CallError && error.code === 'call_closed') return died.promise;
      throw error;
    });
    const report = await Promise.race([all, died.promise]);
    this.#onDeath = undefined;
    return report;
  }

  async #startAll(before: () => Promise<void>): Promise<StartReport> {
    const reports = await Promise.all(
      this.#seats.map(({ calls }) => calls.call('restore', [undefined], startMsMax)),
    ).catch((error: unknown) => {
      // Errors lose their kind on the way; whoever opens the store has to know this one.
      const { name, message } = error as Error;
      throw name === 'StoreDamaged' ? new StoreDamaged(message, { cause: error }) : error;
    });
    reports.forEach(({ clientIds }, index) => this.registry.adopt(index, clientIds));
    for (const seat of this.#seats) await this.#connect(seat);
    await before();
    // Behind it: wills that are due are published under the rules and hooks that hold.
    const wills = await Promise.all(
      this.#seats.map((seat) => seat.calls.call('begin', [seat === this.#first], startMsMax)),
    );
    const ports = await this.#first.calls.call('listen', [undefined], startMsMax);
    this.#ports = ports;
    await Promise.all(
      this.#seats.slice(1).map(({ calls }) => calls.call('listen', [ports], startMsMax)),
    );
    const sessions = reports.reduce((sum, { clientIds }) => sum + clientIds.length, 0);
    return { ports, sessions, wills: wills.reduce((sum, count) => sum + count, 0) };
  }

  get #first(): Seat {
    return this.#seats[0] as Seat;
  }

  #seat(index: number): Seat {
    const handle = this.#parts.spawn(index);
    const seat: Seat = { index, handle, calls: this.#callsTo(index, handle), isUp: false };
    void handle.ended.then((error) => this.#onEnd(seat, handle, error));
    return seat;
  }

  #callsTo(index: number, { port }: WorkerHandle): Calls<WorkerCalls, ControlCalls> {
    const { clock, log } = this.#parts;
    const calls: Calls<WorkerCalls, ControlCalls> = new Calls<WorkerCalls, ControlCalls>({
      port,
      clock,
      peer: `worker ${index}`,
      onFault: (error) => log.error('call.failed', { worker: index, error: describeError(error) }),
      ours: {
        claim: (no, request) =>
          this.registry.claim(index, request, (refusal) => {
            if (refusal === undefined) calls.tell('granted', [no]);
            else calls.tell('refused', [no, refusal.message]);
          }),
        release: (clientId) => this.registry.release(index, clientId),
        log: (lines) => writeRelayed(log, lines),
        alarm: (change, name, details) => this.#alarms.onChange(index, change, name, details),
        report: (name, value) => this.asking.reported(index, name, value),
        askPlugin: (plugin, question, args) => this.asking.asked(plugin, question, args),
      },
    });
    return calls;
  }

  /**
   * With all that are up; from then on it is. No session moves meanwhile: its two workers would not agree
   * on who has to say what of it.
   */
  async #connect(seat: Seat): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#connecting = promise;
    try {
      await Promise.allSettled(this.#orders);
      await this.#connectToAll(seat);
    } finally {
      this.#connecting = undefined;
      resolve();
    }
  }

  async #connectToAll(seat: Seat): Promise<void> {
    const others = this.#seats.filter((other) => other.isUp);
    await Promise.all(
      others.map(async (other) => {
        const { port1, port2 } = new MessageChannel();
        await Promise.all([
          seat.calls.call('peerUp', [other.index, port1], startMsMax, [port1]),
          // One that dies at this moment is told of later, and is not ours to wait for.
          other.calls
            .call('peerUp', [seat.index, port2], startMsMax, [port2])
            .catch((error: unknown) => this.#passIfDead(other, error)),
        ]);
      }),
    );
    seat.isUp = true;
  }

  async #passIfDead(seat: Seat, error: unknown): Promise<void> {
    // Its port closes a moment before its end is known.
    if (error instanceof CallError && error.code === 'call_closed') await seat.handle.ended;
    if (seat.isUp) throw error;
  }

  /**
   * The giver says how it went. When it dies, the claimant knows whether the session came: it was told
   * of the death before it is asked.
   */
  async #ask(worker: number, order: GiveUp): Promise<GivenUp> {
    const giver = this.#seats[worker] as Seat;
    const claimant = this.#seats[order.to] as Seat;
    const claimed = claimant.calls;
    while (this.#connecting !== undefined) await this.#connecting;
    const { handle } = giver;
    const given = giver.calls.call('giveUp', [order], Number.POSITIVE_INFINITY);
    this.#orders.add(given);
    try {
      return await given;
    } catch (error) {
      if (!(error instanceof CallError)) throw error;
      // Its port closes before its end is known, and then others have been told.
      await handle.ended;
      if (claimed !== claimant.calls) throw error;
      const { clientId } = order;
      if (await claimed.call('hasSession', [clientId], answerMsMax).catch(() => false))
        return 'moved';
      throw error;
    } finally {
      this.#orders.delete(given);
    }
  }

  #onEnd(seat: Seat, handle: WorkerHandle, error: Error | undefined): void {
    if (this.#isStopping || seat.handle !== handle) return;
    if (this.#onDeath !== undefined) {
      this.#onDeath(error ?? new Error(`Cannot start: the thread of worker ${seat.index} ended`));
      return;
    }
    const { log, clock, alarms, forget, onHopeless } = this.#parts;
    const { index, calls } = seat;
    const why = error ?? new Error('its thread ended');
    log.error('worker.died', { worker: index, error: describeError(why) });
    seat.isUp = false;
    this.#restored.delete(seat);
    forget(index);
    this.#alarms.forget(index);
    const nowMs = clock.monotonicMs();
    this.#deaths = [...this.#deaths.filter((atMs) => nowMs - atMs < deathsMs), nowMs];
    const deaths = this.#deaths.length;
    alarms.raise(`worker/${index}`, { error: describeError(why), deaths });
    // Before those who wait for it are told: a claim must not go back to an owner that seems to live.
    const settled = this.registry.down(index);
    // Also one that is being connected and waits for a greeting; what the dead answer is no news.
    const told = Promise.allSettled(
      this.#seats
        .filter((other) => other !== seat)
        .map((other) => other.calls.call('peerDown', [index], answerMsMax)),
    );
    calls.close();
    if (deaths > deathsMax) {
      onHopeless(
        new Error(`Cannot go on: workers died ${deaths} times in a minute`, { cause: why }),
      );
      return;
    }
    this.#recovery = this.#recovery.then(async () => {
      await Promise.allSettled([told, handle.storeLeft]);
      await settled;
      await this.#restart(seat);
    });
    this.#recovery = this.#recovery.catch((cause: unknown) => onHopeless(cause as Error));
  }

  async #restart(seat: Seat): Promise<void> {
    if (this.#isStopping) return;
    const { index } = seat;
    const { alarms, clock } = this.#parts;
    const owned = [...this.registry.ownedBy(index)];
    const handle = this.#parts.spawn(index);
    seat.handle = handle;
    seat.calls = this.#callsTo(index, handle);
    void handle.ended.then((error) => this.#onEnd(seat, handle, error));
    try {
      const { clientIds } = await seat.calls.call('restore', [owned], startMsMax);
      await this.#connect(seat);
      this.#restored.set(seat, clientIds);
      if (this.#seats.every(({ isUp }) => isUp)) await this.#letIn();
    } catch (error) {
      await this.#giveUp(index, handle, error);
      return;
    }
    clock.setTimer(deathsMs, () => {
      if (seat.handle === handle) alarms.clear(`worker/${index}`);
    });
  }

  /** A successor that could not start. Its end has been noticed, or will be, and begins the next recovery. */
  async #giveUp(index: number, handle: WorkerHandle, error: unknown): Promise<void> {
    const { log } = this.#parts;
    if (!this.#isStopping)
      log.warn('worker.start_failed', { worker: index, error: describeError(error) });
    await handle.terminate();
  }

  /**
   * All workers know each other again, so the successors may serve. Not before: what a worker wants that is
   * down only those know who knew its predecessor, and who does not know would acknowledge without it.
   */
  async #letIn(): Promise<void> {
    const restored = [...this.#restored];
    this.#restored.clear();
    await Promise.all(restored.map(([seat, clientIds]) => this.#letOneIn(seat, clientIds)));
  }

  async #letOneIn(seat: Seat, clientIds: readonly string[]): Promise<void> {
    const { index, calls, handle } = seat;
    try {
      await this.asking.prepare(seat);
      await calls.call('begin', [false], startMsMax);
      if (seat.isUp) this.registry.up(index, clientIds);
      await calls.call('listen', [this.#ports], startMsMax);
    } catch (error) {
      // The others are not concerned.
      await this.#giveUp(index, handle, error);
      return;
    }
    this.#parts.log.info('worker.restarted', { worker: index, sessions: clientIds.length });
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all(
      this.#seats.map(async ({ calls, handle }) => {
        await calls.call('stop', [], stopMsMax).catch(() => undefined);
        calls.close();
        await handle.terminate();
      }),
    );
  }
}
