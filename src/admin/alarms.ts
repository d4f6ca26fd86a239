// What is known of alarms beyond the process, and who is told of them. Laws: an alarm that was present
// when the process ended is over when the next one begins, and stands in the history with that moment;
// whoever subscribes under `$SYS` hears of each raise and each clear.

import type { Clock } from '#base/clock';
import { describeError } from '#base/errors';
import type { Logger } from '#base/log';
import {
  type Alarm,
  type AlarmDetails,
  alarmHistoryMax,
  type Alarms,
  type PastAlarm,
} from '#core/alarms';
import type { RecordStore } from '#core/store-port';
import type { NodeRecords } from '#node/node-face';
import { alertOf } from './alarm-words.ts';

export interface AlarmBookParts {
  readonly records: NodeRecords;
  readonly clock: Clock;
  readonly log: Logger;
  /** Below `$SYS/brokers/<node>/`. */
  readonly publish: (path: string, payload: string) => void;
}

interface AlarmRecord {
  readonly sinceMs: number;
  readonly details: AlarmDetails;
  /** Undefined: it is present. */
  readonly untilMs?: number;
}

const recordKind = 'alarms';
/** The alarm of a store that takes nothing. */
const storeAlarm = 'store';

export class AlarmBook {
  readonly #parts: AlarmBookParts;
  readonly #records: RecordStore;
  readonly #alarms: Alarms;
  /**
   * What waits for the store to be well again: a line as short as these may still find room, which would
   * look as if it were.
   */
  readonly #unsaved = new Map<string, AlarmRecord>();

  constructor(alarms: Alarms, parts: AlarmBookParts) {
    this.#parts = parts;
    this.#alarms = alarms;
    this.#records = parts.records.records(recordKind);
    this.#takeUp();
    // Raised before anybody could hear of it.
    for (const alarm of alarms.present()) this.#onRaised(alarm);
    alarms.onChange((change, alarm) => {
      if (change === 'raised') this.#onRaised(alarm);
      else this.#onCleared(alarm as PastAlarm);
    });
  }

  /** The way of those who look at something again and again: one that is still raised is told again. */
  raise(name: string, text: string): void {
    const wasRaised = this.#alarms.isRaised(name);
    this.#alarms.raise(name, { text });
    const alarm = wasRaised ? this.#alarms.present().find((one) => one.name === name) : undefined;
    if (alarm !== undefined) this.#alert(alarm);
  }

  #takeUp(): void {
    const nowMs = this.#parts.clock.nowMs();
    const raised = new Set(this.#alarms.present().map(({ name }) => name));
    const past: PastAlarm[] = [];
    for (const [name, value] of this.#records.entries()) {
      const { sinceMs, details, untilMs } = value as AlarmRecord;
      past.push({ name, sinceMs, details, untilMs: untilMs ?? nowMs });
      if (untilMs === undefined && !raised.has(name)) {
        this.#records.put(name, { sinceMs, details, untilMs: nowMs });
      }
    }
    this.#alarms.takeUp(past.sort((a, b) => a.untilMs - b.untilMs));
    this.#flush();
  }

  #onRaised(alarm: Alarm): void {
    const { name, sinceMs, details } = alarm;
    this.#save(name, { sinceMs, details });
    this.#alert(alarm);
  }

  #onCleared({ name, sinceMs, details, untilMs }: PastAlarm): void {
    this.#save(name, { sinceMs, details, untilMs });
    this.#parts.publish('alarms/clear', JSON.stringify({ id: name }));
  }

  #save(name: string, record: AlarmRecord): void {
    this.#unsaved.set(name, record);
    if (this.#alarms.isRaised(storeAlarm)) return;
    for (const [one, value] of this.#unsaved) this.#records.put(one, value);
    this.#unsaved.clear();
    this.#forgetOldest();
    this.#flush();
  }

  /** As many as the history has, and those that are raised. */
  #forgetOldest(): void {
    if (this.#alarms.history().length < alarmHistoryMax) return;
    const kept = new Set(
      [...this.#alarms.history(), ...this.#alarms.present()].map(({ name }) => name),
    );
    const gone = [...this.#records.entries()].filter(([name]) => !kept.has(name));
    for (const [name] of gone) this.#records.delete(name);
  }

  #alert(alarm: Alarm): void {
    this.#parts.publish('alarms/alert', JSON.stringify(alertOf(alarm)));
  }

  /** The store tells of its failures itself, by an alarm: what is lost here is one line of history. */
  #flush(): void {
    const { records, log } = this.#parts;
    records.flushed().catch((error: unknown) => {
      log.debug('alarm.unsaved', { error: describeError(error) });
    });
  }
}
