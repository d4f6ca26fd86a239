// Retained messages: what there is, and having it removed, by topic or by filter. They belong to the plugin
// broker_retainer and are there while it runs. Law: whoever removes by filter can see first what would go.

import { isUtf8 } from 'node:buffer';
import { type Static, Type } from 'typebox';
import { filterFault, parseFilter, topicNameFault } from '#topics/topic';
import type { Settings } from '#config/settings';
import { isSystemTopic } from '#core/system-topics';
import type { WorkersFace } from '#node/node-face';
import type { RetainedFacts, RetainedFound, RetainedSlice } from '#node/retainer-verbs';
import { OperatingError } from '../failures.ts';
import { operating } from '../operating.ts';
import { type AnyOperation, type Caller, define, Page } from '../operation.ts';
import { noParams, type PagingParams, pagingParams, sliceOf } from '../paging.ts';

export interface RetainedParts {
  readonly workers: WorkersFace;
  readonly settings: Pick<Settings, 'management'>;
  /** Topics of clients that have one. */
  readonly count: () => number;
}

const tag = 'Retained messages';
/** Topics that a preview names. */
const previewMax = 100;

const row = Type.Object({
  topic: Type.String(),
  qos: Type.Integer(),
  payload_size: Type.Integer({ description: 'In bytes' }),
  from: Type.String({ description: 'The client id of whoever published it' }),
  ts: Type.Integer({ description: 'When, as Unix time in seconds' }),
  expires_at: Type.Optional(
    Type.Integer({ description: 'Unix time in seconds; absent: it is kept for ever' }),
  ),
});
type Row = Static<typeof row>;

const message = Type.Object({
  ...row.properties,
  payload: Type.String(),
  encoding: Type.Union([Type.Literal('plain'), Type.Literal('base64')], {
    description: 'Of the payload: plain where it is UTF-8',
  }),
});

const filterParam = Type.String({ minLength: 1, description: 'A topic filter, `+` and `#` in it' });
const topicParams = Type.Object({
  topic: Type.String({ minLength: 1, description: 'The topic, with `/` written as `%2F`' }),
});

const sample = {
  topic: 'plant/1/state',
  qos: 1,
  payload_size: 2,
  from: 'sensor-1',
  ts: 1_772_366_400,
};

export function retainedOperations(parts: RetainedParts): AnyOperation[] {
  return [list(parts), lookup(parts), removeOne(parts), removeMatching(parts), ...commands(parts)];
}

function list(parts: RetainedParts): AnyOperation {
  const { rowsMax } = parts.settings.management;
  return define({
    name: 'list_retained',
    descr: 'List retained messages',
    tag,
    http: { method: 'GET', path: '/retained' },
    params: Type.Object({ ...pagingParams(rowsMax), filter: Type.Optional(filterParam) }),
    result: Type.Array(row),
    example: { params: { filter: 'plant/#' }, data: [sample] },
    run: (params, { signal }) => pageOf(parts, params, rowsMax, signal),
  });
}

async function pageOf(
  { workers, count }: RetainedParts,
  params: PagingParams & { readonly filter?: string },
  rowsMax: number,
  signal: AbortSignal,
): Promise<Page<Row>> {
  const { offset, ...wanted } = sliceOf(params, rowsMax);
  const filter = params.filter === undefined ? undefined : checkedFilter(params.filter);
  const rows: Row[] = [];
  let matched = 0;
  const slices = slicesOf(signal, (from) => {
    const skip = Math.max(0, offset - matched);
    const left = wanted.limit - rows.length;
    return workers.anywhere('retainedSlice', [{ filter, from, skip, rowsMax: left }]);
  });
  for await (const slice of slices) {
    matched += slice.matched;
    rows.push(...slice.rows.map(rowOf));
    // Of all that there are the number is known.
    if (filter === undefined && rows.length >= wanted.limit) break;
  }
  return new Page(rows, { ...wanted, count: filter === undefined ? count() : matched });
}

function lookup({ workers }: RetainedParts): AnyOperation {
  return define({
    name: 'lookup_retained',
    descr: 'Get the retained message of a topic',
    tag,
    http: { method: 'GET', path: '/retained/:topic' },
    params: topicParams,
    result: message,
    example: {
      params: { topic: sample.topic },
      data: { ...sample, payload: 'on', encoding: 'plain' },
    },
    async run({ topic }) {
      const found = await operating(workers.anywhere('retainedAt', [checkedTopic(topic)]));
      if (found === undefined) throw nothingAt(topic);
      return { ...rowOf(found), ...payloadOf(found) };
    },
  });
}

function removeOne({ workers }: RetainedParts): AnyOperation {
  return define({
    name: 'delete_retained',
    descr: 'Delete the retained message of a topic',
    tag,
    http: { method: 'DELETE', path: '/retained/:topic' },
    params: topicParams,
    example: { params: { topic: sample.topic } },
    async run({ topic }) {
      const asked = workers.anywhere('removeRetained', [ofClients(checkedTopic(topic)), '']);
      if ((await operating(asked)).matched === 0) throw nothingAt(topic);
    },
  });
}

function removeMatching(parts: RetainedParts): AnyOperation {
  return define({
    name: 'clean_retained',
    descr: 'Delete the retained messages whose topics match a filter, or see which these are',
    tag,
    http: { method: 'DELETE', path: '/retained' },
    params: Type.Object({
      filter: filterParam,
      preview: Type.Optional(
        Type.Boolean({ default: false, description: 'Delete nothing and tell what would go' }),
      ),
    }),
    result: Type.Object({
      count: Type.Integer({ description: 'That were deleted, or would be' }),
      topics: Type.Optional(
        Type.Array(Type.String(), { description: `Of a preview: the first ${previewMax}` }),
      ),
    }),
    example: {
      params: { filter: 'plant/+/state', preview: true },
      data: { count: 1, topics: [sample.topic] },
    },
    async run({ filter, preview = false }, { signal }) {
      const checked = ofClients(checkedFilter(filter));
      return preview
        ? foresee(parts, checked, signal)
        : { count: await clean(parts, checked, signal) };
    },
  });
}

async function foresee(
  { workers }: RetainedParts,
  filter: string,
  signal: AbortSignal,
): Promise<{ count: number; topics: string[] }> {
  const topics: string[] = [];
  let count = 0;
  const slices = slicesOf(signal, (from) => {
    const rowsMax = previewMax - topics.length;
    return workers.anywhere('retainedSlice', [{ filter, from, skip: 0, rowsMax }]);
  });
  for await (const slice of slices) {
    count += slice.matched;
    topics.push(...slice.rows.map(({ topic }) => topic));
  }
  return { count, topics };
}

async function clean(
  { workers }: RetainedParts,
  filter: string | undefined,
  signal: AbortSignal,
): Promise<number> {
  let count = 0;
  const slices = slicesOf(signal, (from) => workers.anywhere('removeRetained', [filter, from]));
  for await (const { matched } of slices) count += matched;
  return count;
}

function commands(parts: RetainedParts): AnyOperation[] {
  const { workers, count } = parts;
  return [
    define({
      name: 'retainer_info',
      descr: 'Show the number of retained messages',
      tag,
      cli: {
        words: 'retainer info',
        args: [],
        print: (found: { readonly count: number }) => `retained/total: ${found.count}`,
      },
      params: noParams,
      async run() {
        await operating(workers.anywhere('retainedSettled', []));
        return { count: count() };
      },
    }),
    define({
      name: 'retainer_topics',
      descr: 'Show the topics of all retained messages',
      tag,
      cli: { words: 'retainer topics', args: [], print: linesOf },
      params: noParams,
      run: (_, caller) => topicsOf(parts, caller),
    }),
    define({
      name: 'retainer_clean',
      descr: 'Delete all retained messages, or those whose topics match a filter',
      tag,
      cli: {
        words: 'retainer clean',
        args: ['filter?'],
        usage: '[<Topic>]',
        print: (cleaned: { readonly count: number }) =>
          `Cleaned ${cleaned.count} retained messages`,
      },
      params: Type.Object({ filter: Type.Optional(filterParam) }),
      async run({ filter }, { signal }) {
        const checked = filter === undefined ? undefined : ofClients(checkedFilter(filter));
        return { count: await clean(parts, checked, signal) };
      },
    }),
  ];
}

/** In slices, which are printed as they come. */
async function* topicsOf({ workers }: RetainedParts, { signal }: Caller): AsyncGenerator<string> {
  const slices = slicesOf(signal, (from) =>
    workers.anywhere('retainedSlice', [
      { filter: undefined, from, skip: 0, rowsMax: Number.POSITIVE_INFINITY },
    ]),
  );
  for await (const { rows } of slices) for (const { topic } of rows) yield topic;
}

const linesAtOnce = 1000;

async function* linesOf(topics: AsyncIterable<string>): AsyncGenerator<string> {
  let lines: string[] = [];
  for await (const topic of topics) {
    if (lines.push(topic) < linesAtOnce) continue;
    yield lines.join('\n');
    lines = [];
  }
  yield lines.join('\n');
}

/** One slice after another until there is none, or nobody waits any more. */
async function* slicesOf(
  signal: AbortSignal,
  ask: (from: string) => Promise<RetainedSlice>,
): AsyncGenerator<RetainedSlice> {
  for (let from: string | undefined = ''; from !== undefined; ) {
    signal.throwIfAborted();
    const slice: RetainedSlice = await operating(ask(from));
    yield slice;
    from = slice.next;
  }
}

function checkedTopic(topic: string): string {
  const fault = topicNameFault(topic);
  if (fault === undefined) return topic;
  throw new OperatingError('badTopic', `Cannot use topic "${topic}": ${fault}`);
}

function checkedFilter(filter: string): string {
  const isShared = (): boolean => parseFilter(filter).group !== undefined;
  const fault = filterFault(filter) ?? (isShared() ? 'a shared one matches no topic' : undefined);
  if (fault === undefined) return filter;
  throw new OperatingError('badTopic', `Cannot use filter "${filter}": ${fault}`);
}

/** What the broker tells of itself is not there to be removed: it would be told again. */
function ofClients(filter: string): string {
  if (!isSystemTopic(filter)) return filter;
  throw new OperatingError('badTopic', `Cannot delete "${filter}": it is of the broker`);
}

function nothingAt(topic: string): OperatingError {
  return new OperatingError('notFound', `Cannot find a retained message of "${topic}"`);
}

function rowOf({
  topic,
  qos,
  payloadBytes,
  clientId,
  timestampMs,
  expiresAtMs,
}: RetainedFacts): Row {
  return {
    topic,
    qos,
    payload_size: payloadBytes,
    from: clientId,
    ts: seconds(timestampMs),
    ...(Number.isFinite(expiresAtMs) ? { expires_at: seconds(expiresAtMs) } : {}),
  };
}

function payloadOf({ payload }: RetainedFound): { payload: string; encoding: 'plain' | 'base64' } {
  const isText = isUtf8(payload);
  const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
  return isText
    ? { payload: bytes.toString('utf8'), encoding: 'plain' }
    : { payload: bytes.toString('base64'), encoding: 'base64' };
}

function seconds(ms: number): number {
  return Math.floor(ms / 1000);
}
