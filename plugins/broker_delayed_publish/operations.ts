// The messages that wait: a list of them, and taking one back.

import {
  type AnyOperation,
  defineOperation,
  OperatingError,
  Page,
  pagingParams,
  sliceOf,
  Type,
} from '#sdk/operations';
import type { DelayedService } from './control.ts';
import type { DelayedHead } from './delayed-messages.ts';

const rowsMax = 10_000;

interface DelayedRow {
  readonly id: number;
  readonly topic: string;
  readonly qos: number;
  readonly retain: boolean;
  readonly publish_at: string;
  readonly accepted_at: string;
  readonly client_id: string;
  readonly username: string;
  readonly payload_bytes: number;
}

const row = Type.Object({
  id: Type.Integer(),
  topic: Type.String({ description: 'Where it will be published' }),
  qos: Type.Integer(),
  retain: Type.Boolean(),
  publish_at: Type.String({ description: 'When it is due' }),
  accepted_at: Type.String({ description: 'When it came' }),
  client_id: Type.String({ description: 'Who published it' }),
  username: Type.String({ description: "Of the client; '' without" }),
  payload_bytes: Type.Integer(),
});

export default (service: DelayedService): AnyOperation[] => [
  defineOperation({
    name: 'list_delayed_messages',
    descr: 'List messages that will be published later, those that are due first',
    tag: 'Delayed messages',
    http: { method: 'GET', path: '/delayed' },
    cli: {
      words: 'delayed list',
      args: [],
      descr: 'Show messages that will be published later',
      print: ({ rows }: Page<DelayedRow>) => rows.map(lineOf).join('\n'),
    },
    params: Type.Object(pagingParams(rowsMax)),
    result: Type.Array(row),
    example: {
      data: [
        {
          id: 1,
          topic: 'plant/1/lights',
          qos: 1,
          retain: false,
          publish_at: '2026-01-01T06:00:00Z',
          accepted_at: '2026-01-01T05:00:00Z',
          client_id: 'sensor-1',
          username: 'ann',
          payload_bytes: 2,
        },
      ],
    },
    run(params) {
      const { page, limit, offset } = sliceOf(params, rowsMax);
      const { messages } = service;
      const rows = messages.page(offset, limit).map(rowOf);
      return new Page(rows, { page, limit, count: messages.count });
    },
  }),
  defineOperation({
    name: 'delete_delayed_message',
    descr: 'Take back a message that would be published later',
    tag: 'Delayed messages',
    http: { method: 'DELETE', path: '/delayed/:id' },
    cli: {
      words: 'delayed del',
      args: ['id'],
      print: () => 'ok',
    },
    params: Type.Object({ id: Type.Integer({ minimum: 1, description: 'As the list shows it' }) }),
    example: { params: { id: 1 } },
    async run({ id }) {
      if (await service.forget(id)) return;
      throw new OperatingError('notFound', `Cannot find delayed message ${id}: there is none`);
    },
  }),
];

function rowOf(head: DelayedHead): DelayedRow {
  const { id, topic, qos, retain, dueAtMs, acceptedAtMs, clientId, username = '' } = head;
  return {
    ...{ id, topic, qos, retain },
    publish_at: timeOf(dueAtMs),
    accepted_at: timeOf(acceptedAtMs),
    client_id: clientId,
    username,
    payload_bytes: head.payloadBytes,
  };
}

/** To the second. */
function timeOf(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}

function lineOf(one: DelayedRow): string {
  const { id, topic, qos, publish_at: at, client_id: from, payload_bytes: bytes } = one;
  return `Delayed(${id}, topic=${topic}, qos=${qos}, publish_at=${at}, client_id=${from}, payload_bytes=${bytes})`;
}
