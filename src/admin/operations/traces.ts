// Traces: what happens to the messages of a client or on a topic, followed into a file.

import { Type } from 'typebox';
import { formatDuration, parseDurationMs } from '#base/duration';
import type { TraceLevel } from '#observe/trace-line';
import { OperatingError } from '../failures.ts';
import { type AnyOperation, define } from '../operation.ts';
import { noParams } from '../paging.ts';
import type { AdminParts } from '../parts.ts';
import { localTime } from '../timestamps.ts';
import type { TraceReport, Traces } from '../traces.ts';

const tag = 'Traces';
const forMsMax = 7 * 86_400_000;

const levels = ['all', 'debug', 'info', 'notice', 'warning', 'error'] as const;
const level = Type.Union(
  levels.map((one) => Type.Literal(one)),
  {
    default: 'all',
    description:
      'debug or all: everything, and the first 100 bytes of payloads; info: each step of each message; ' +
      'notice: connections, sessions, subscriptions; warning: what was refused or dropped; error: what could not be stored',
  },
);
const file = Type.String({
  description: 'A name in the directory of the log: a new file, or one that a trace wrote',
});

const trace = Type.Object({
  name: Type.String({ description: 'Of the trace, and of its file' }),
  client_id: Type.Optional(Type.String()),
  topic: Type.Optional(Type.String({ description: 'A topic filter' })),
  level,
  file: Type.String({ description: 'With the directory' }),
  status: Type.String({ description: 'running, or why it is over: stopped, full, time, failed' }),
  started_at: Type.String(),
  stops_at: Type.Optional(Type.String()),
  lines: Type.Integer(),
  bytes: Type.Integer(),
});

interface TraceRow {
  readonly name: string;
  readonly client_id?: string;
  readonly topic?: string;
  readonly level: TraceLevel;
  readonly file: string;
  readonly status: string;
  readonly started_at: string;
  readonly stops_at?: string;
  readonly lines: number;
  readonly bytes: number;
}

const named = Type.Object({ name: Type.String({ description: 'Of the trace' }) });

export function traceOperations({ services }: AdminParts): AnyOperation[] {
  return [listing(services), starting(services), ...commands(services), ...reading(services)];
}

type WithTraces = { readonly traces: Traces };

function listing(services: WithTraces): AnyOperation {
  return define({
    name: 'list_traces',
    descr: 'A list of traces that run, and of the last ones that have ended',
    tag,
    http: { method: 'GET', path: '/traces' },
    cli: {
      words: 'trace list',
      args: [],
      descr: 'List all traces',
      print: (rows: readonly TraceRow[]) =>
        rows
          .filter(({ status }) => status === 'running')
          .map(listed)
          .join('\n'),
    },
    params: noParams,
    result: Type.Array(trace),
    run: () => services.traces.list().map(rowOf),
  });
}

function starting(services: WithTraces): AnyOperation {
  return define({
    name: 'start_trace',
    descr: 'Trace a client or a topic into a file',
    tag,
    http: { method: 'POST', path: '/traces' },
    params: Type.Object({
      client_id: Type.Optional(Type.String({ description: 'Either this or a topic' })),
      topic: Type.Optional(Type.String({ description: 'A topic filter' })),
      file: Type.Optional(file),
      level,
      for: Type.Optional(
        Type.String({ description: 'It stops by itself after this: 10m, 1h30m; at most 7d' }),
      ),
    }),
    result: trace,
    async run({ client_id: clientId, topic, ...wish }) {
      if (clientId === undefined && topic === undefined) {
        throw new OperatingError('missing', "missing mandatory params: ['client_id' or 'topic']");
      }
      if (clientId !== undefined && topic !== undefined) {
        const text = 'Cannot trace client_id and topic at once: one of them is wanted';
        throw new OperatingError('invalid', text);
      }
      const by = clientId === undefined ? 'topic' : 'client';
      const of = clientId ?? topic ?? '';
      const forMs = durationOf(wish.for);
      return rowOf(await services.traces.start({ ...wish, by, of, forMs }));
    },
  });
}

function commands(services: WithTraces): AnyOperation[] {
  const by = Type.Union([Type.Literal('client'), Type.Literal('topic')]);
  const kinds = ['client', 'topic'] as const;
  const subject = { client: '<ClientId>', topic: '<Topic>' } as const;
  return [
    define({
      name: 'trace_start',
      descr: 'Trace a client or a topic into a file',
      tag,
      cli: kinds.map((kind) => ({
        words: `trace start ${kind}`,
        args: ['of', 'file', 'level?'],
        usage: `${subject[kind]} <File> [<Level>]`,
        descr: kind === 'client' ? 'Traces for a client' : 'Traces for a topic',
        fixed: { by: kind },
        print: (_done, { of }) => `trace ${words[kind]} ${of} successfully`,
        printFailure: ({ message }, { of }) => `[error] trace ${words[kind]} ${of}: ${message}`,
      })),
      params: Type.Object({ by, of: Type.String(), file, level }),
      async run(wish) {
        await services.traces.start(wish);
      },
    }),
    define({
      name: 'trace_stop',
      descr: 'Stop tracing a client or a topic',
      tag,
      cli: kinds.map((kind) => ({
        words: `trace stop ${kind}`,
        args: ['of'],
        usage: subject[kind],
        descr: kind === 'client' ? 'Stop tracing for a client' : 'Stop tracing for a topic',
        fixed: { by: kind },
        print: (_done, { of }) => `stop tracing ${words[kind]} ${of} successfully`,
        printFailure: ({ message }, { of }) =>
          `[error] stop tracing ${words[kind]} ${of}: ${message}`,
      })),
      params: Type.Object({ by, of: Type.String() }),
      run: ({ by: kind, of }) => services.traces.stopOf(kind, of),
    }),
  ];
}

const words = { client: 'client_id', topic: 'topic' } as const;

function reading(services: WithTraces): AnyOperation[] {
  return [
    define({
      name: 'stop_trace',
      descr: 'Stop a trace; its file stays',
      tag,
      http: { method: 'DELETE', path: '/traces/:name' },
      params: named,
      run: ({ name }) => services.traces.stop(name),
    }),
    define({
      name: 'download_trace',
      descr: 'The file of a trace, also of one that has ended since the start of the broker',
      tag,
      http: { method: 'GET', path: '/traces/:name/download', produces: 'text/plain' },
      params: named,
      run: ({ name }) => services.traces.download(name),
    }),
    define({
      name: 'tail_trace',
      descr:
        'Lines of a trace as they come, as server-sent events: line, lost (how many), end (why)',
      tag,
      http: { method: 'GET', path: '/traces/:name/tail', produces: 'text/event-stream' },
      params: named,
      run: ({ name }, { signal }) => services.traces.tail(name, signal),
    }),
  ];
}

function durationOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = parseDurationMs(text);
  if (ms !== undefined && ms > 0 && ms <= forMsMax) return ms;
  const wanted = `a duration of at most ${formatDuration(forMsMax)} such as 10m`;
  throw new OperatingError('invalid', `Cannot use for = "${text}": expected ${wanted}`);
}

function rowOf(report: TraceReport): TraceRow {
  const { name, by, of, path, startedAtMs, untilMs, ended, lines, bytes } = report;
  return {
    name,
    ...(by === 'client' ? { client_id: of } : { topic: of }),
    level: report.level,
    file: path,
    status: ended ?? 'running',
    started_at: localTime(startedAtMs),
    ...(untilMs === undefined ? {} : { stops_at: localTime(untilMs) }),
    lines,
    bytes,
  };
}

function listed({ client_id: clientId, topic, level: at, file: path }: TraceRow): string {
  const of = clientId === undefined ? `topic=${topic}` : `client_id=${clientId}`;
  return `Trace(${of}, level=${at}, destination="${path}")`;
}
