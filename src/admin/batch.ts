// An operation on topics in its two forms: one entry, and a batch of them. Law: what becomes of one entry of a
// batch is nobody else's affair; only our own fault is everybody's.

import { type TInteger, type TObject, type TOptional, type TString, Type } from 'typebox';
import { OperatingError } from './failures.ts';
import { checkTopicCount, type TopicParams, topicParams } from './on-behalf.ts';
import { type AnyOperation, define } from './operation.ts';

interface BatchItem {
  readonly topic?: string;
  readonly topics?: string | readonly string[];
  readonly client_id?: string;
  readonly code: number;
  readonly message?: string;
}

/** Codes that say all there is to say. */
const plainCodes: ReadonlySet<number> = new Set([0, 112, 115]);

/** What became of one entry of a batch; what is our own fault is everybody's. */
export async function itemOf(
  { topic, topics }: TopicParams,
  done: Promise<void>,
  rest: { readonly client_id?: string } = {},
): Promise<BatchItem> {
  const named = topic === undefined ? (topics === undefined ? {} : { topics }) : { topic };
  try {
    await done;
    return { ...rest, ...named, code: 0 };
  } catch (error) {
    if (!(error instanceof OperatingError)) throw error;
    const { code, message } = error;
    return { ...rest, ...named, code, ...(!plainCodes.has(code) && { message }) };
  }
}

/** Of a batch. */
const entriesMax = 1000;

interface Forms<E> {
  /** `publish`: of the name, and of the path below `/mqtt`. */
  readonly verb: string;
  readonly descr: string;
  readonly batchDescr: string;
  /** What the code of an item says. */
  readonly codes: string;
  readonly params: TObject;
  /** Fields of an entry that its item repeats. */
  readonly repeated?: { readonly client_id: TString };
  readonly run: (entry: E) => Promise<void>;
}

/** All entries of a batch are begun at once, in their order. */
export function oneAndBatch<E extends TopicParams & { readonly client_id?: string }>(
  forms: Forms<E>,
): AnyOperation[] {
  const { verb, descr, batchDescr, codes, params, repeated = {}, run } = forms;
  const item: { code: TInteger; message: TOptional<TString> } = {
    code: Type.Integer({ description: codes }),
    message: Type.Optional(Type.String()),
  };
  const kept = ({ client_id: id }: E): { client_id?: string } =>
    'client_id' in repeated && id !== undefined ? { client_id: id } : {};
  return [
    define({
      name: `mqtt_${verb}`,
      descr,
      tag: 'Messages',
      http: { method: 'POST', path: `/mqtt/${verb}` },
      params,
      async run(entry) {
        checkTopicCount([entry as E]);
        await run(entry as E);
      },
    }),
    define({
      name: `mqtt_${verb}_batch`,
      descr: batchDescr,
      tag: 'Messages',
      http: { method: 'POST', path: `/mqtt/${verb}_batch`, bodyAs: 'entries' },
      params: Type.Object({ entries: Type.Array(params, { maxItems: entriesMax }) }),
      result: Type.Array(Type.Object({ ...repeated, ...topicParams, ...item })),
      run(given): Promise<BatchItem[]> {
        const entries = given.entries as readonly E[];
        checkTopicCount(entries);
        return Promise.all(entries.map((entry) => itemOf(entry, run(entry), kept(entry))));
      },
    }),
  ];
}
