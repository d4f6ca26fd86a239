// Asks the servers, for one worker: with bounded concurrency, repetitions where there was no answer, and
// a breaker for each server. Laws: every question is answered, or known to have no answer, before the
// broker gives up waiting; nobody who can be asked now waits for somebody else; after `close` nothing is left.

import { readFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { Agent as TlsAgent } from 'node:https';
import { type Clock, describeError, type Logger } from '#sdk';
import { Breaker } from './breaker.ts';
import type { HttpAuthSettings, TlsFiles } from './config.ts';
import type { Endpoint, HttpQuestion } from './endpoint.ts';
import { exchange, type HttpReply, NoReply } from './exchange.ts';
import { Slots } from './slots.ts';

/** busy: too many wait already; unreachable: no answer that could be used, or none was asked for. */
export type NoAnswer = 'busy' | 'unreachable';

export interface AskerParts {
  readonly settings: HttpAuthSettings;
  readonly clock: Clock;
  readonly log: Logger;
  readonly hookDeadlineMs: number;
  /** Told which servers are given up for now, each time that this is found again and when it ends. */
  readonly onDown: (origins: readonly string[]) => void;
}

/** So long before the broker gives up waiting an answer is there, whatever it is. */
const marginMsMax = 500;
/** A kept connection that nobody used for so long is closed. */
const idleMs = 30_000;

export class Asker {
  readonly #parts: AskerParts;
  readonly #agents: { readonly plain: Agent; readonly tls: TlsAgent };
  readonly #slots: Slots;
  readonly #breakers = new Map<string, Breaker>();
  readonly #cancels = new Set<(why: string) => void>();
  #pending = 0;
  #isClosed = false;

  /** Throws when a file of TLS cannot be used. */
  constructor(parts: AskerParts) {
    const { settings, clock } = parts;
    this.#parts = parts;
    this.#agents = agentsOf(settings);
    this.#slots = new Slots(settings.poolSize, clock);
  }

  /** When a decision that begins now has to be over; see `ask`. */
  deadline(): number {
    const { hookDeadlineMs, clock } = this.#parts;
    return clock.monotonicMs() + hookDeadlineMs - Math.min(marginMsMax, hookDeadlineMs / 10);
  }

  /** Questions that are not answered yet. */
  get pending(): number {
    return this.#pending;
  }

  /** Never rejects. */
  async ask(
    { origin }: Endpoint,
    question: HttpQuestion,
    untilMs: number,
  ): Promise<HttpReply | NoAnswer> {
    if (this.#pending >= this.#parts.settings.pendingMax) return 'busy';
    this.#pending++;
    try {
      return await this.#insist(this.#breakerOf(origin), question, untilMs);
    } catch (error) {
      this.#parts.log.debug('auth_http.unanswered', {
        server: origin,
        error: describeError(error),
      });
      return 'unreachable';
    } finally {
      this.#pending--;
    }
  }

  close(): void {
    this.#isClosed = true;
    const why = 'the plugin is unloaded';
    this.#slots.close(new Error(why));
    for (const cancel of [...this.#cancels]) cancel(why);
    this.#agents.plain.destroy();
    this.#agents.tls.destroy();
  }

  async #insist(breaker: Breaker, question: HttpQuestion, untilMs: number): Promise<HttpReply> {
    const { retryTimes, retryIntervalMs, retryBackoff } = this.#parts.settings;
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#try(breaker, question, untilMs);
      } catch (error) {
        const pauseMs = retryIntervalMs * retryBackoff ** attempt;
        const isLast = attempt >= retryTimes || pauseMs >= this.#leftMs(untilMs);
        const isOver = isLast || breaker.isShut || this.#isClosed;
        if (isOver || !(error instanceof NoReply)) throw error;
        await this.#pause(pauseMs);
      }
    }
  }

  async #try(breaker: Breaker, question: HttpQuestion, untilMs: number): Promise<HttpReply> {
    // Whoever would find it shut need not wait for his turn.
    if (breaker.isShut) throw new Error('the server did not answer lately');
    const release = await this.#slots.take(this.#leftMs(untilMs));
    try {
      if (!breaker.enter()) throw new Error('the server did not answer lately');
      try {
        const reply = await this.#onceOrTwice(question, untilMs);
        breaker.succeeded();
        return reply;
      } catch (error) {
        if (!this.#isClosed) breaker.failed();
        throw error;
      }
    } finally {
      release();
    }
  }

  /** A kept connection that the server closed meanwhile says nothing about the server: once again, on a new one. */
  async #onceOrTwice(question: HttpQuestion, untilMs: number): Promise<HttpReply> {
    try {
      return await this.#exchange(question, untilMs);
    } catch (error) {
      if (!(error instanceof NoReply && error.isStale) || this.#isClosed) throw error;
      closeIdle(this.#agentOf(question));
      return this.#exchange(question, untilMs);
    }
  }

  async #exchange(question: HttpQuestion, untilMs: number): Promise<HttpReply> {
    if (this.#isClosed) throw new Error('the plugin is unloaded');
    const { settings, clock } = this.#parts;
    const leftMs = this.#leftMs(untilMs);
    const timeoutMs = settings.timeoutMs === 0 ? leftMs : Math.min(settings.timeoutMs, leftMs);
    const connectTimeoutMs =
      settings.connectTimeoutMs === 0 ? timeoutMs : settings.connectTimeoutMs;
    const agent = this.#agentOf(question);
    const { reply, cancel } = exchange(question, { agent, clock, timeoutMs, connectTimeoutMs });
    this.#cancels.add(cancel);
    try {
      return await reply;
    } finally {
      this.#cancels.delete(cancel);
    }
  }

  #pause(ms: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = this.#parts.clock.setTimer(ms, () => {
      this.#cancels.delete(cancel);
      resolve();
    });
    const cancel = (why: string): void => {
      timer.cancel();
      this.#cancels.delete(cancel);
      reject(new Error(why));
    };
    this.#cancels.add(cancel);
    return promise;
  }

  #leftMs(untilMs: number): number {
    return Math.max(1, Math.ceil(untilMs - this.#parts.clock.monotonicMs()));
  }

  #agentOf({ isTls }: HttpQuestion): Agent {
    return isTls ? this.#agents.tls : this.#agents.plain;
  }

  #breakerOf(origin: string): Breaker {
    const known = this.#breakers.get(origin);
    if (known !== undefined) return known;
    const { settings, clock, log, onDown } = this.#parts;
    const options = { failures: settings.breakerFailures, pauseMs: settings.breakerPauseMs };
    const breaker = new Breaker(options, clock, (isOpen) => {
      if (isOpen) log.warn('auth_http.down', { server: origin, pauseMs: settings.breakerPauseMs });
      else log.info('auth_http.up', { server: origin });
      const down = [...this.#breakers].filter(([, one]) => one.isOpen);
      onDown(down.map(([name]) => name));
    });
    this.#breakers.set(origin, breaker);
    return breaker;
  }
}

/** How many connections there are is bounded by whoever asks. */
function agentsOf({ poolSize, tls }: HttpAuthSettings): { plain: Agent; tls: TlsAgent } {
  const options = { keepAlive: true, maxFreeSockets: poolSize, timeout: idleMs };
  return {
    plain: new Agent(options),
    tls: new TlsAgent({ ...options, ...readTls(tls), minVersion: 'TLSv1.2' }),
  };
}

function readTls({ caFile, certFile, keyFile }: TlsFiles): Record<string, Buffer> {
  const files = { ca: caFile, cert: certFile, key: keyFile };
  return Object.fromEntries(
    Object.entries(files).flatMap(([name, file]) =>
      file === undefined ? [] : [[name, readFileSync(file)]],
    ),
  );
}

function closeIdle(agent: Agent): void {
  for (const sockets of Object.values(agent.freeSockets)) {
    for (const socket of sockets ?? []) socket.destroy();
  }
}
