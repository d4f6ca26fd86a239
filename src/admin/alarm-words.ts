// Alarms in the words of the API: those of the machine are a text, all others have a severity, a title
// and a summary. Whoever raises one with the detail `text` has chosen the first form. Law: in the history
// every description is a text, which is what the interface says of it.

import type { Alarm, PastAlarm } from '#core/alarms';
import { localTime } from './timestamps.ts';

type Severity = 'notice' | 'warning' | 'error' | 'critical';

/** `T`: as a text in lists, in milliseconds where it is published. */
export interface AlarmDescription<T> {
  readonly severity: Severity;
  readonly title: string;
  readonly summary: string;
  readonly timestamp: T;
}

export interface AlarmItem<T = string> {
  readonly id: string;
  readonly desc: string | AlarmDescription<T>;
}

export interface PastAlarmItem {
  readonly id: string;
  readonly desc: string;
  readonly clear_at: string;
}

export function alarmItem(alarm: Alarm): AlarmItem {
  return { id: alarm.name, desc: descriptionOf(alarm, localTime(alarm.sinceMs)) };
}

export function pastAlarmItem(alarm: PastAlarm): PastAlarmItem {
  return { id: alarm.name, desc: textOf(alarm), clear_at: localTime(alarm.untilMs) };
}

/** As it is published when it is raised. */
export function alertOf(alarm: Alarm): AlarmItem<number> {
  return { id: alarm.name, desc: descriptionOf(alarm, alarm.sinceMs) };
}

function descriptionOf<T>({ name, details }: Alarm, timestamp: T): string | AlarmDescription<T> {
  const { text } = details;
  if (typeof text === 'string') return text;
  const [severity, title] = titleOf(name);
  return { severity, title, summary: summaryOf(details), timestamp };
}

/** `The store cannot be written: error: no space left, worker: 0` */
function textOf({ name, details }: Alarm): string {
  const { text } = details;
  if (typeof text === 'string') return text;
  const [, title] = titleOf(name);
  const summary = summaryOf(details);
  return summary === '' ? title : `${title}: ${summary}`;
}

function titleOf(name: string): readonly [Severity, string] {
  if (name === 'store') return ['critical', 'The store cannot be written'];
  if (name === 'overload') return ['warning', 'The broker is overloaded'];
  if (name === 'acl_reload_failed') {
    return ['error', 'The access rules could not be read anew: the old ones hold'];
  }
  if (name.startsWith('worker/')) return ['error', 'A worker died and was started again'];
  return ['warning', name];
}

/** `error: no space left, worker: 0` */
function summaryOf(details: Alarm['details']): string {
  return Object.entries(details)
    .map(([key, value]) => `${key}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ');
}
