// Overload: looks at the signals of this node four times a second, decides on the level, and sets the
// measures going in their order: first whoever can give memory back is asked to, then publishers are
// paused, then newcomers refused. Law: each episode is logged and shown as one alarm from its
// beginning until the node has been calm for a while, and no client that is paused waits for ever.

import type { Clock, ClockTimer } from '#base/clock';
import { describeError } from '#base/errors';
import type { Logger } from '#base/log';
import type { AlarmDetails, Alarms } from './alarms.ts';
import { heapShare } from './memory-budget.ts';
import { Metric, type Metrics } from './metrics.ts';
import { isFarOver, levelFor, nextHeldShare, type Signals } from './overload-level.ts';
import { Level, type Pressure } from './pressure.ts';

export interface OverloadParts {
  readonly budgetBytes: number;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly alarms: Alarms;
  readonly pressure: Pressure;
  /** For tests: in place of the real heap. */
  readonly heapShare?: () => number;
}

const sampleMs = 250;
/** Relief that has to be asked for more often than this is none. */
const reliefMsMin = 1000;
/** One long turn is over when it is noticed; only a delay that lasts so many samples is a signal. */
const lastingSamples = 3;
/** An episode is over after so many calm samples: 5 s. */
const calmSamplesMin = 20;
/** Every paused client is read about once in so many samples: a second. */
const roundSamples = 4;
/** What one read of one client brings: at most 256 KB, but in small messages with much around them. */
const readBytes = 1024 * 1024;

const words = ['calm', 'pausing', 'refusing'] as const;

interface Episode {
  readonly sinceMs: number;
  readonly pausedBefore: number;
  readonly refusedBefore: number;
  highest: Level;
  heldBytesMax: number;
  calmSamples: number;
}

export class Overload {
  readonly budgetBytes: number;
  level: Level = Level.calm;
  readonly #parts: OverloadParts;
  readonly #heapShare: () => number;
  readonly #relievers: (() => void)[] = [];
  /** The newest last. */
  readonly #delaysMs: number[] = [];
  #relievedAtMs = Number.NEGATIVE_INFINITY;
  #episode: Episode | undefined;
  #timer: ClockTimer | undefined;
  #dueMs = 0;

  constructor(parts: OverloadParts) {
    this.#parts = parts;
    this.budgetBytes = parts.budgetBytes;
    this.#heapShare = parts.heapShare ?? heapShare;
    parts.pressure.onHeld = () => this.#decide();
  }

  /**
   * Called before a level rises: gives back memory that can be had again later, such as what absent
   * clients have on disk. When that is enough, nothing else happens.
   */
  onPressure(relieve: () => void): void {
    this.#relievers.push(relieve);
  }

  start(): void {
    if (this.#timer !== undefined) return;
    this.#watchHeld();
    this.#await();
  }

  /** Whoever is paused goes on: nobody is left to let them. */
  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    const { pressure } = this.#parts;
    pressure.heldMax = Number.POSITIVE_INFINITY;
    pressure.isOverloaded = false;
    pressure.isRefusing = false;
    pressure.letThrough(pressure.pausedCount);
  }

  get signals(): Signals {
    const { held } = this.#parts.pressure;
    const isLasting = this.#delaysMs.length === lastingSamples;
    return {
      held: held.total / this.budgetBytes,
      heap: this.#heapShare(),
      delayMs: isLasting ? Math.min(...this.#delaysMs) : 0,
    };
  }

  #await(): void {
    this.#dueMs = this.#parts.clock.monotonicMs() + sampleMs;
    this.#timer = this.#parts.clock.setTimer(sampleMs, () => this.#sample());
  }

  #sample(): void {
    this.#delaysMs.push(Math.max(0, this.#parts.clock.monotonicMs() - this.#dueMs));
    if (this.#delaysMs.length > lastingSamples) this.#delaysMs.shift();
    this.#await();
    this.#decide();
    this.#letSomeThrough();
    this.#closeEpisode();
  }

  #decide(): void {
    let level = levelFor(this.signals, this.level);
    if (level > this.level && this.#relieve()) level = levelFor(this.signals, this.level);
    this.level = level;
    this.#watchHeld();
    const { pressure } = this.#parts;
    pressure.isOverloaded = level >= Level.pausing;
    pressure.isRefusing = level >= Level.refusing;
    this.#note();
  }

  /** The ledger itself is looked at in every turn, as long as there is a level above this one. */
  #watchHeld(): void {
    const share = this.level === Level.refusing ? Infinity : nextHeldShare(this.level);
    this.#parts.pressure.heldMax = share * this.budgetBytes;
  }

  /** False: nobody has been asked. */
  #relieve(): boolean {
    const nowMs = this.#parts.clock.monotonicMs();
    if (this.#relievers.length === 0 || nowMs < this.#relievedAtMs + reliefMsMin) return false;
    this.#relievedAtMs = nowMs;
    for (const relieve of this.#relievers) {
      try {
        relieve();
      } catch (error) {
        this.#parts.log.error('overload.relief.failed', { error: describeError(error) });
      }
    }
    return true;
  }

  /**
   * Acknowledgements of a paused client are not read either, and what it is owed waits for them: each
   * is read once in a while, so that nobody waits for itself. Never more at a time than would fit if
   * each read were full, or all that has piled up in front of them would come in at once. Far over the
   * budget, where every read may bring more than it frees, it is one client at a time, and only one
   * that owes acknowledgements.
   */
  #letSomeThrough(): void {
    const { pressure } = this.#parts;
    const { pausedCount } = pressure;
    if (pausedCount === 0) return;
    const signals = this.signals;
    if (isFarOver(signals)) {
      pressure.letThrough(1, (one) => one.owesAcknowledgements);
      return;
    }
    const room = (nextHeldShare(this.level) - signals.held) * this.budgetBytes;
    const fitting = Math.max(1, Math.floor(room / readBytes));
    const inTurn = this.level === Level.calm ? pausedCount : Math.ceil(pausedCount / roundSamples);
    pressure.letThrough(Math.min(fitting, inTurn));
  }

  /** What log and alarm say about it. */
  #note(): void {
    const { level } = this;
    if (level === Level.calm && this.#episode === undefined) return;
    const { alarms, log, pressure } = this.#parts;
    const episode = (this.#episode ??= this.#newEpisode());
    const figures = this.#figures();
    alarms.raise('overload', { level: words[level], ...figures });
    episode.heldBytesMax = Math.max(episode.heldBytesMax, pressure.held.total);
    if (level > Level.calm) episode.calmSamples = 0;
    if (level <= episode.highest) return;
    episode.highest = level;
    log.warn(`overload.${words[level]}`, figures);
  }

  #newEpisode(): Episode {
    const { clock, metrics } = this.#parts;
    metrics.add(Metric.overloadEpisodes);
    return {
      sinceMs: clock.monotonicMs(),
      pausedBefore: metrics.get('overload/paused'),
      refusedBefore: metrics.get('overload/refused'),
      highest: Level.calm,
      heldBytesMax: 0,
      calmSamples: 0,
    };
  }

  #figures(): AlarmDetails {
    const { signals } = this;
    return {
      heldBytes: this.#parts.pressure.held.total,
      budgetBytes: this.budgetBytes,
      heapPercent: Math.round(signals.heap * 100),
      loopDelayMs: Math.round(signals.delayMs),
    };
  }

  /** A node that goes up and down for a while has one episode, not many. */
  #closeEpisode(): void {
    const episode = this.#episode;
    if (episode === undefined || this.level > Level.calm) return;
    if (++episode.calmSamples < calmSamplesMin) return;
    this.#episode = undefined;
    const { clock, log, metrics, alarms } = this.#parts;
    alarms.clear('overload');
    log.info('overload.over', {
      seconds: Math.round((clock.monotonicMs() - episode.sinceMs) / 1000),
      highestLevel: words[episode.highest],
      heldBytesMax: episode.heldBytesMax,
      publishersPaused: metrics.get('overload/paused') - episode.pausedBefore,
      connectionsRefused: metrics.get('overload/refused') - episode.refusedBefore,
    });
  }
}
