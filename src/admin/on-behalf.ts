// What publishing and subscribing on behalf of clients have in common: the topics that are meant, and a
// session that is asked where it is by then. Law: of several topics those that are none are dropped;
// when none is left, that is the fault.

import type { Clock } from '#base/clock';
import { type TArray, type TOptional, type TString, type TUnion, Type } from 'typebox';
import type { WorkersFace } from '#node/node-face';
import type { VerbArgs } from '#node/verbs';
import { OperatingError } from './failures.ts';

export interface TopicParams {
  readonly topic?: string;
  readonly topics?: string | readonly string[];
}

/** Of a call, a batch or not. */
const topicsMax = 10_000;

export const topicParams: {
  topic: TOptional<TString>;
  topics: TOptional<TUnion<[TString, TArray<TString>]>>;
} = {
  topic: Type.Optional(Type.String({ description: 'A topic, or several with commas in between' })),
  topics: Type.Optional(
    Type.Union([Type.String(), Type.Array(Type.String())], {
      description: 'In place of `topic`: with commas in between, or an array',
    }),
  ),
};

/** `isOne`: a comma in `topic` is a character like any other. */
export function topicsOf({ topic, topics = [] }: TopicParams, isOne = false): readonly string[] {
  if (topic !== undefined) return isOne ? [topic] : topic.split(',');
  return typeof topics === 'string' ? topics.split(',') : topics;
}

/** Those without a fault, and at least one. */
export function validTopics(
  topics: readonly string[],
  faultOf: (topic: string) => string | undefined,
): readonly string[] {
  // JSON can say half a character, which no packet can [MQTT-1.5.4-1].
  const valid = topics.filter((topic) => topic.isWellFormed() && faultOf(topic) === undefined);
  if (valid.length === 0) throw badTopic();
  return valid;
}

/** Throws for a client id that no client could have [MQTT-3.1.3-4]. */
export function checkClientId(clientId: string): void {
  const bytes = Buffer.byteLength(clientId);
  const isText = clientId.isWellFormed() && !clientId.includes('\0');
  if (isText && bytes <= clientIdBytesMax) return;
  const found = isText ? `${bytes} bytes` : 'a text that MQTT does not allow';
  const wanted = `expected UTF-8 without U+0000, at most ${clientIdBytesMax} bytes`;
  throw new OperatingError('invalid', `Cannot use client_id: found ${found}, ${wanted}`);
}

const clientIdBytesMax = 65_535;

export function badTopic(): OperatingError {
  return new OperatingError('badTopic', 'bad_topic');
}

export function checkTopicCount(entries: readonly TopicParams[]): void {
  const count = entries.reduce((sum, entry) => sum + topicsOf(entry).length, 0);
  if (count <= topicsMax) return;
  throw new OperatingError('invalid', `Cannot use ${count} topics: expected at most ${topicsMax}`);
}

/** A session that moves to another worker is there a moment later. */
const movesMax = 100;
const moveMs = 50;

export interface SessionParts {
  readonly workers: WorkersFace;
  readonly clock: Clock;
}

/** At the session of a client, wherever it is. Throws where there is none, or no topic was taken. */
export async function atSession<V extends 'subscribe' | 'unsubscribe'>(
  parts: SessionParts,
  clientId: string,
  verb: V,
  calls: readonly VerbArgs<V>[],
): Promise<void> {
  const answers = await Promise.all(calls.map((args) => settled(parts, clientId, verb, args)));
  if (answers.includes('no_session')) throw new OperatingError('notOnline', 'session_not_found');
  if (!answers.includes('ok')) throw badTopic();
}

async function settled<V extends 'subscribe' | 'unsubscribe'>(
  { workers, clock }: SessionParts,
  clientId: string,
  verb: V,
  args: VerbArgs<V>,
): Promise<'ok' | 'bad_topic' | 'no_session'> {
  for (let tries = 0; tries < movesMax; tries++) {
    const answer = (await workers.atClient(clientId, verb, args)) ?? 'no_session';
    if (answer !== 'moving') return answer;
    await new Promise<void>((resolve) => clock.setTimer(moveMs, resolve));
  }
  throw new OperatingError('badCall', `Cannot ${verb}: the session moves to another worker`);
}
