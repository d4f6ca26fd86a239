// The alarms of this node as state: what is wrong now, since when, and what was wrong before. Laws: an
// alarm is logged and told once when it is raised and once when it is cleared, however often its
// owner raises it in between; those calls only renew the details. The history has one entry for a name,
// of the last time.

import type { Clock } from '#base/clock';
import { describeError } from '#base/errors';
import type { Logger } from '#base/log';

/** Figures and words for people, as they go into the log. */
export type AlarmDetails = Readonly<Record<string, unknown>>;

export interface Alarm {
  readonly name: string;
  /** Wall clock. */
  readonly sinceMs: number;
  /** As of the last call of `raise`. */
  readonly details: AlarmDetails;
}

export interface PastAlarm extends Alarm {
  readonly untilMs: number;
}

export type AlarmListener = (change: 'raised' | 'cleared', alarm: Alarm | PastAlarm) => void;

/** Names that the history has; the one that was cleared longest ago goes for one more. */
export const alarmHistoryMax = 1000;

export class Alarms {
  readonly #clock: Pick<Clock, 'nowMs'>;
  readonly #log: Logger;
  /** In the order they were raised. */
  readonly #present = new Map<string, Alarm>();
  /** In the order they were cleared. */
  readonly #past = new Map<string, PastAlarm>();
  readonly #listeners: AlarmListener[] = [];

  constructor(clock: Pick<Clock, 'nowMs'>, log: Logger) {
    this.#clock = clock;
    this.#log = log;
  }

  raise(name: string, details: AlarmDetails): void {
    const raised = this.#present.get(name);
    const alarm = { name, sinceMs: raised?.sinceMs ?? this.#clock.nowMs(), details };
    this.#present.set(name, alarm);
    if (raised !== undefined) return;
    this.#log.warn('alarm.raised', { alarm: name, details });
    this.#tell('raised', alarm);
  }

  /** Harmless for an alarm that is not raised. */
  clear(name: string): void {
    const alarm = this.#present.get(name);
    if (alarm === undefined) return;
    this.#present.delete(name);
    const past = { ...alarm, untilMs: this.#clock.nowMs() };
    this.#keep(past);
    this.#log.info('alarm.cleared', { alarm: name, details: alarm.details });
    this.#tell('cleared', past);
  }

  /** What was cleared before this process began: the oldest first, and before anything is raised. */
  takeUp(past: Iterable<PastAlarm>): void {
    for (const alarm of past) this.#keep(alarm);
  }

  #keep(past: PastAlarm): void {
    this.#past.delete(past.name);
    this.#past.set(past.name, past);
    const oldest = this.#past.keys().next().value;
    if (this.#past.size > alarmHistoryMax && oldest !== undefined) this.#past.delete(oldest);
  }

  isRaised(name: string): boolean {
    return this.#present.has(name);
  }

  /** Those raised now, the oldest first. */
  present(): Alarm[] {
    return [...this.#present.values()];
  }

  /** Those cleared, the oldest first. */
  history(): PastAlarm[] {
    return [...this.#past.values()];
  }

  /** Called after each raise and clear that changed something. */
  onChange(listener: AlarmListener): void {
    this.#listeners.push(listener);
  }

  /** Whoever raises an alarm must not fail because somebody who listens does. */
  #tell(change: 'raised' | 'cleared', alarm: Alarm | PastAlarm): void {
    for (const listener of this.#listeners) {
      try {
        listener(change, alarm);
      } catch (error) {
        this.#log.error('alarm.listener.failed', {
          alarm: alarm.name,
          error: describeError(error),
        });
      }
    }
  }
}
