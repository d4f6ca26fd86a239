// Statements tried out on real events: the last ones that were recorded, or those of the next seconds. Nothing
// is stored, and no action runs.

import type { PreviewedEvent, PreviewService, RecordingView } from '#sdk';
import {
  type AnyOperation,
  defineOperation,
  jsonValue,
  noParams,
  OperatingError,
  Type,
} from '#sdk/operations';
import { tag, wrongParams } from './fields.ts';
import { answering } from './rule-refusal.ts';
import { oneLine } from './rule-row.ts';

const filter = Type.String({ minLength: 1, description: 'Of topics: plant/#' });

interface Outcome {
  readonly events: readonly PreviewedEvent[];
  readonly matched: number;
  readonly missing: readonly string[];
}

export function previewOperations(service: PreviewService): AnyOperation[] {
  return [previewing(service), recording(service), forgetting(service), listing(service)];
}

function previewing(service: PreviewService): AnyOperation {
  return defineOperation({
    name: 'preview_rule',
    descr: 'Run SQL on real events, and see what it makes of each, or why it does not match',
    tag,
    http: { method: 'POST', path: '/rules/preview' },
    cli: {
      words: 'rules preview',
      args: ['rawsql'],
      options: { '-n': 'count', '-s': 'seconds' },
      usage: '<Sql> [-n <Count>] [-s <Seconds>]',
      descr: 'Run SQL on recorded events, or on those of the next seconds',
      print: ({ events, matched, missing }: Outcome) =>
        [
          ...events.map(eventLine),
          `${matched} of ${events.length} events match`,
          ...missing.map((worker) => `no answer from ${worker}`),
        ].join('\n'),
      printFailure: ({ message }) => message,
    },
    params: Type.Object({
      rawsql: Type.String({ description: 'SELECT … FROM … WHERE …' }),
      for: Type.Optional(
        Type.Union([Type.String(), Type.Array(Type.String())], {
          description: 'The event, where FROM names topics only',
        }),
      ),
      count: Type.Integer({
        minimum: 1,
        maximum: 100,
        default: 10,
        description: 'Events that FROM means, at most',
      }),
      seconds: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: 60,
          description: 'Wait so long for new events; without it those that were recorded',
        }),
      ),
    }),
    wrongParams,
    result: Type.Object({
      events: Type.Array(
        Type.Object({
          event: Type.String(),
          timestamp: Type.Integer(),
          input: Type.Record(Type.String(), Type.Unknown(), { description: 'Its columns' }),
          matched: Type.Boolean(),
          output: Type.Array(Type.Unknown(), { description: 'What actions would get' }),
          reasons: Type.Array(Type.String(), {
            description: 'Why it does not match, or why elements of FOREACH are left out',
          }),
        }),
        { description: 'In the order in which they happened' },
      ),
      matched: Type.Integer({ description: 'How many of them match' }),
      missing: Type.Array(Type.String(), { description: 'Workers that did not answer' }),
    }),
    example: {
      params: { rawsql: 'SELECT payload FROM "plant/+/temperature" WHERE payload > 30', count: 1 },
      data: { events: [exampleEvent], matched: 0, missing: [] },
    },
    async run(wish, { signal }): Promise<Outcome> {
      const { events, missing } = await answering(() => service.preview(wish, signal));
      const shown = events.map((event) => jsonValue(event) as PreviewedEvent);
      return { events: shown, matched: events.filter((event) => event.matched).length, missing };
    },
  });
}

/** `+ message.publish t/1 [{"x":5}]` or `- message.publish t/1 WHERE: x > 1 is false: …` */
function eventLine({ event, input, matched, output, reasons }: PreviewedEvent): string {
  const topic = typeof input['topic'] === 'string' ? ` ${input['topic']}` : '';
  const told = matched ? [JSON.stringify(output), ...reasons] : reasons;
  return oneLine(`${matched ? '+' : '-'} ${event}${topic} ${told.join('; ')}`);
}

function recording(service: PreviewService): AnyOperation {
  return defineOperation({
    name: 'record_for_preview',
    descr: 'Keep the last events on a topic filter in memory for previews, until the broker stops',
    tag,
    http: { method: 'PUT', path: '/rules/preview/record' },
    cli: {
      words: 'rules preview record',
      args: ['filter'],
      options: { '-k': 'events' },
      usage: '<Filter> [-k <Event>]',
      descr: 'Keep the last events on a topic filter for previews',
      print: () => 'ok',
      printFailure: ({ message }) => message,
    },
    params: Type.Object({
      filter,
      events: Type.Union([Type.String(), Type.Array(Type.String(), { maxItems: 32 })], {
        default: 'message.publish',
        description: 'One, or a list; the filter says nothing of those that have no topic',
      }),
    }),
    wrongParams,
    example: { params: { filter: 'plant/#' } },
    run: (params) => answering(() => service.record(params.filter, [params.events].flat())),
  });
}

function forgetting(service: PreviewService): AnyOperation {
  return defineOperation({
    name: 'forget_preview',
    descr: 'Keep no more events on a topic filter, and forget those that were kept',
    tag,
    http: { method: 'DELETE', path: '/rules/preview/record' },
    cli: {
      words: 'rules preview forget',
      args: ['filter'],
      descr: 'Forget the events on a topic filter, and keep no more',
      print: () => 'ok',
      printFailure: ({ message }) => message,
    },
    params: Type.Object({ filter }),
    wrongParams,
    example: { params: { filter: 'plant/#' } },
    async run(params) {
      if (await service.forget(params.filter)) return;
      throw new OperatingError('noRule', `Nothing on "${params.filter}" is recorded`);
    },
  });
}

function listing(service: PreviewService): AnyOperation {
  return defineOperation({
    name: 'list_preview_records',
    descr: 'Topic filters whose last events are kept for previews',
    tag,
    http: { method: 'GET', path: '/rules/preview/record' },
    cli: {
      words: 'rules preview list',
      args: [],
      descr: 'List topic filters whose last events are kept',
      print: (rows: readonly RecordingView[]) => rows.map(recordingLine).join('\n'),
    },
    params: noParams,
    result: Type.Array(
      Type.Object({
        filter: Type.String(),
        events: Type.Array(Type.String()),
        recorded: Type.Integer({ description: 'Of these events, on all filters and workers' }),
      }),
    ),
    example: { data: [{ filter: 'plant/#', events: ['message.publish'], recorded: 1 }] },
    run: () => service.recordings(),
  });
}

function recordingLine({ filter: topics, events, recorded }: RecordingView): string {
  return oneLine(`Recording(filter=${topics}, events=${events.join(',')}, recorded=${recorded})`);
}

const exampleEvent: PreviewedEvent = {
  event: 'message.publish',
  timestamp: 1_763_222_400_000,
  input: { client_id: 'sensor-1', topic: 'plant/1/temperature', payload: '21.5', qos: 1 },
  matched: false,
  output: [],
  reasons: ['WHERE: payload > 30 is false: payload is text "21.5"'],
};
