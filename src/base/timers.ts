// All keepalives, retries and expiries of a thread on one clock timer: a hierarchical timing wheel.
// Law: a timer never fires early, and late by one tick at most while the event loop is free.

import { invariant } from './assert.ts';
import type { Clock, ClockTimer } from './clock.ts';

const slotsPerLevel = 64;
/** Reaches 2^48 ticks, so that no delay runs over the edge even with ticks of 1 ms. */
const levels = 8;
/** Ticks that one slot of each level covers. Beyond 2^31: hence no bit operations on ticks. */
const spans: readonly number[] = Array.from(
  { length: levels },
  (_, level) => slotsPerLevel ** level,
);

/** MQTT counts its longest intervals in 32 bits of seconds. */
const delayMsMax = 2 ** 32 * 1000;

const unscheduled = -1;

/** Something that happens later, on one wheel. Extend it to keep the timer inside its owner. */
export abstract class WheelTimer {
  /** The four fields are the wheel's own: its links, the slot they are in, and the deadline. */
  wheelNext: WheelTimer | undefined = undefined;
  wheelPrevious: WheelTimer | undefined = undefined;
  wheelSlot: number = unscheduled;
  /** Fits V8's small integers for 17 years of 250 ms ticks, so that to re-arm allocates nothing. */
  wheelDeadline = 0;

  /** Called when due; no longer scheduled then. May schedule and cancel any timer, also itself. */
  abstract fire(): void;

  get isScheduled(): boolean {
    return this.wheelSlot !== unscheduled;
  }
}

export class CallbackTimer extends WheelTimer {
  readonly #call: () => void;

  constructor(call: () => void) {
    super();
    this.#call = call;
  }

  override fire(): void {
    this.#call();
  }
}

export interface TimerWheelOptions {
  readonly clock: Clock;
  /** Told what a fire() threw; the other timers go on. */
  readonly onError: (error: unknown) => void;
  readonly tickMs?: number;
}

/**
 * Timers, sorted by deadline only as finely as their distance asks for.
 *
 *     level 0   64 slots of 1 tick        due within 64 ticks    (16 s, with ticks of 250 ms)
 *     level 1   64 slots of 64 ticks      … 64² ticks            (17 min)
 *     level 2   64 slots of 64² ticks     … 64³ ticks            (18 h)
 *     …                                                          (level 5: 544 years)
 *
 * Invariants: a timer lies in the slot of its deadline on the lowest level that reached that far
 * when it was put there; when the cursor enters a slot of a higher level, what lies there moves
 * down; what lies in the cursor's slot of level 0 fires. Timers fire in the order of their ticks,
 * those of one tick in no order to rely on. Cost: slots are rings of intrusive links, so to
 * schedule, to re-schedule and to cancel are O(1) and allocate nothing; a timer moves down at most
 * once per level.
 */
export class TimerWheel {
  readonly #clock: Clock;
  readonly #onError: (error: unknown) => void;
  readonly #tickMs: number;
  readonly #originMs: number;

  /** The first timer of each slot, level by level; its wheelPrevious is the last. */
  readonly #slots: (WheelTimer | undefined)[] = Array.from({ length: levels * slotsPerLevel });
  readonly #countByLevel: number[] = Array.from({ length: levels }, () => 0);
  #count = 0;
  /** The tick being worked on, or the last one that was. */
  #cursor = 0;
  /** The tick that the clock has reached; ahead of the cursor only while timers fire. */
  #reached = 0;

  #isRunning = false;
  #nextTick: ClockTimer | undefined = undefined;
  #nowMs: number;
  #nowSeconds = 0;

  constructor({ clock, onError, tickMs = 250 }: TimerWheelOptions) {
    invariant(tickMs >= 1 && tickMs <= 60_000, 'a tick is between 1 ms and one minute');
    this.#clock = clock;
    this.#onError = onError;
    this.#tickMs = tickMs;
    this.#originMs = clock.monotonicMs();
    this.#nowMs = clock.nowMs();
  }

  /** Wall clock as of the last tick, for the data path: a field, no call into the system. */
  get nowMs(): number {
    return this.#nowMs;
  }

  /** Whole seconds since the wheel was made, as of the last tick; never goes back. For durations. */
  get nowSeconds(): number {
    return this.#nowSeconds;
  }

  /** Timers that are scheduled. */
  get size(): number {
    return this.#count;
  }

  /** Ticks from now on, also while nothing is scheduled; does not keep the process alive. */
  start(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#awaitTick();
  }

  /**
   * Timers stay scheduled. Those that come due meanwhile fire after the next start(). Called by a
   * fire(), the tick under way is finished.
   */
  stop(): void {
    this.#isRunning = false;
    this.#nextTick?.cancel();
    this.#nextTick = undefined;
  }

  [Symbol.dispose](): void {
    this.stop();
  }

  /**
   * Replaces an earlier schedule of the same timer. A delay of 0 or less fires at the next tick: what
   * a fire() schedules never fires in the same tick, so that no tick lasts for ever.
   */
  schedule(timer: WheelTimer, delayMs: number): void {
    invariant(
      delayMs <= delayMsMax,
      'a timer is scheduled for a number of ms, 2^32 seconds at most',
    );
    if (timer.wheelSlot !== unscheduled) this.#unlink(timer);
    // From the clock, not from the last tick: after a long turn of the event loop that one is old,
    // and the timer would be early.
    const elapsedMs = this.#clock.monotonicMs() - this.#originMs;
    const deadline = Math.ceil((elapsedMs + delayMs) / this.#tickMs);
    timer.wheelDeadline = Math.max(deadline, this.#reached + 1);
    this.#link(timer);
  }

  cancel(timer: WheelTimer): void {
    if (timer.wheelSlot !== unscheduled) this.#unlink(timer);
  }

  #awaitTick(): void {
    const elapsedMs = this.#clock.monotonicMs() - this.#originMs;
    // On the grid of deadlines: off it, the wait for the deadline's tick and the wait for the
    // clock timer would add up to two ticks.
    const waitMs = (this.#reached + 1) * this.#tickMs - elapsedMs;
    this.#nextTick?.cancel();
    this.#nextTick = this.#clock.setTimer(Math.max(1, waitMs), () => this.#tick());
  }

  #tick(): void {
    const elapsedMs = this.#clock.monotonicMs() - this.#originMs;
    this.#nowMs = this.#clock.nowMs();
    this.#nowSeconds = Math.floor(elapsedMs / 1000);
    try {
      this.#advanceTo(Math.floor(elapsedMs / this.#tickMs));
    } finally {
      // A fire() may have called stop().
      if (this.#isRunning) this.#awaitTick();
    }
  }

  /** After a leap of time the work grows with the timers, not with the ticks that were slept. */
  #advanceTo(tick: number): void {
    this.#reached = Math.max(tick, this.#reached);
    while (this.#cursor < this.#reached && this.#count > 0) {
      // Up to the next slot of the lowest level in use there is nothing to fire and to move down.
      const span = this.#span(this.#lowestLevel());
      const next = (Math.floor(this.#cursor / span) + 1) * span;
      if (next > this.#reached) break;
      this.#cursor = next;
      this.#moveDown();
      this.#fireDue();
    }
    this.#cursor = this.#reached;
  }

  #lowestLevel(): number {
    let level = 0;
    while (this.#countByLevel[level] === 0) level += 1;
    return level;
  }

  /** Empties the slots of higher levels that begin at the cursor. */
  #moveDown(): void {
    for (let level = 1; level < levels && this.#cursor % this.#span(level) === 0; level += 1) {
      const slot = this.#slotOf(this.#cursor, level);
      // Ends: the deadlines of this slot are less than one of its spans away now, so each timer goes
      // to a lower level.
      for (let timer = this.#slots[slot]; timer !== undefined; timer = this.#slots[slot]) {
        this.#unlink(timer);
        this.#link(timer);
      }
    }
  }

  #fireDue(): void {
    const slot = this.#slotOf(this.#cursor, 0);
    // Ends: schedule() gives deadlines after the tick reached, and those lie in other slots. The
    // first is asked for anew each time, because a fire() may cancel the others.
    for (let timer = this.#slots[slot]; timer !== undefined; timer = this.#slots[slot]) {
      this.#unlink(timer);
      try {
        timer.fire();
      } catch (error) {
        this.#onError(error);
      }
    }
  }

  #link(timer: WheelTimer): void {
    const ticks = timer.wheelDeadline - this.#cursor;
    let level = 0;
    while (level < levels - 1 && ticks >= this.#span(level + 1)) level += 1;
    const slot = this.#slotOf(timer.wheelDeadline, level);
    const first = this.#slots[slot];
    if (first === undefined) {
      timer.wheelNext = timer;
      timer.wheelPrevious = timer;
      this.#slots[slot] = timer;
    } else {
      const last = first.wheelPrevious as WheelTimer;
      timer.wheelNext = first;
      timer.wheelPrevious = last;
      last.wheelNext = timer;
      first.wheelPrevious = timer;
    }
    timer.wheelSlot = slot;
    this.#count += 1;
    this.#countLevel(level, 1);
  }

  #unlink(timer: WheelTimer): void {
    const slot = timer.wheelSlot;
    const next = timer.wheelNext as WheelTimer;
    const previous = timer.wheelPrevious as WheelTimer;
    previous.wheelNext = next;
    next.wheelPrevious = previous;
    if (this.#slots[slot] === timer) this.#slots[slot] = next === timer ? undefined : next;
    timer.wheelNext = undefined;
    timer.wheelPrevious = undefined;
    timer.wheelSlot = unscheduled;
    this.#count -= 1;
    this.#countLevel(Math.floor(slot / slotsPerLevel), -1);
  }

  #countLevel(level: number, change: 1 | -1): void {
    this.#countByLevel[level] = (this.#countByLevel[level] as number) + change;
  }

  #slotOf(tick: number, level: number): number {
    return level * slotsPerLevel + (Math.floor(tick / this.#span(level)) % slotsPerLevel);
  }

  #span(level: number): number {
    return spans[level] as number;
  }
}
