// What `$delayed/<n>/<topic>` says: `n` seconds from now, or from 4294967 on a time in Unix seconds. Law:
// whatever begins with `$delayed/` is for later or refused; nothing of it is ever routed as it stands.

import { type MessageRefusal, Reason, topicNameFault } from '#sdk';

export interface DelayedTopic {
  /** Where it is to be published; not mounted. */
  readonly topic: string;
  readonly dueAtMs: number;
}

export const delayedPrefix = '$delayed/';
/** Delays are shorter, and no absolute time is further away. */
const delaySecondsMax = 4_294_967;
/** In 2001: a number below is no time but a delay that is too long. */
const timeSecondsMin = 1_000_000_000;

/** Of a topic that begins with `$delayed/`. */
export function readDelayedTopic(written: string, nowMs: number): DelayedTopic | MessageRefusal {
  const [, digits, topic] = /^\$delayed\/(\d{1,15})\/(.+)$/s.exec(written) ?? [];
  if (digits === undefined || topic === undefined) {
    return refusal(written, 'expected $delayed/<seconds>/<topic>');
  }
  const fault = topicNameFault(topic) ?? ownFault(topic);
  if (fault !== undefined) return refusal(written, fault);
  const number = Number(digits);
  if (number < delaySecondsMax) return { topic, dueAtMs: nowMs + number * 1000 };
  if (number < timeSecondsMin || number - nowMs / 1000 > delaySecondsMax) {
    const wanted = `a delay below ${delaySecondsMax} or a Unix time at most so far ahead`;
    return refusal(written, `found ${digits} seconds, expected ${wanted}`);
  }
  return { topic, dueAtMs: number * 1000 };
}

/** The topic that rights are asked about besides the whole name; undefined: there is none. */
export function innerTopic(written: string): string | undefined {
  if (!written.startsWith(delayedPrefix)) return undefined;
  const slash = written.indexOf('/', delayedPrefix.length);
  const topic = slash < 0 ? '' : written.slice(slash + 1);
  return topic === '' || topic.startsWith(delayedPrefix) ? undefined : topic;
}

function ownFault(topic: string): string | undefined {
  if (topic === '$SYS' || topic.startsWith('$SYS/')) return 'topics under $SYS/ are of the broker';
  return topic.startsWith(delayedPrefix) ? 'a delay inside a delay is not allowed' : undefined;
}

function refusal(written: string, why: string): MessageRefusal {
  const text = `Cannot delay the message to "${written.slice(0, 200)}": ${why}`;
  return { refuse: Reason.topicNameInvalid, text };
}
