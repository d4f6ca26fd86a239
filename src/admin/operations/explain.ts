// Explain: what a publish or a subscription would come to, asked before it happens. Nothing is sent.

import { Type } from 'typebox';
import type { QoS } from '#wire/packet';
import {
  type AskerWish,
  explainPublish,
  explainSubscribe,
  type PublishExplained,
  type SubscribeExplained,
} from '../explain.ts';
import { publishTree, subscribeTree } from '../explain-tree.ts';
import { type AnyOperation, define } from '../operation.ts';
import type { AdminParts } from '../parts.ts';

const tag = 'Explain';
const receiversMax = 1000;
const payloadBytesMax = 16 * 1024 * 1024;

const text = (description: string) => Type.String({ description });
const qos = Type.Integer({ minimum: 0, maximum: 2, default: 0 });

const asker = {
  client_id: Type.Optional(text('A client that is connected or has a session')),
  username: Type.Optional(text('With ip: of a client that might connect')),
  ip: Type.Optional(text('The address that it would come from')),
  zone: Type.Optional(text('Of the listener that it would come to: external')),
};

const client = Type.Object({
  client_id: Type.String(),
  username: Type.Union([Type.String(), Type.Null()]),
  zone: Type.String(),
  mountpoint: Type.String(),
  ipaddress: Type.String(),
  state: text('connected, session (away), or supposed'),
});
const acl = Type.Object({
  allow: Type.Boolean(),
  by: text(
    'superuser, off (enable_acl), nomatch (acl_nomatch), system ($SYS/), or who answered client.check_acl',
  ),
  rule: Type.Optional(text('The rule that decided, where there is a list of them')),
  source: Type.Optional(text('Where that rule stands')),
});
const hooks = Type.Array(Type.String(), {
  description: 'Whoever may change it on its way; they are not asked',
});
const receiver = Type.Object({
  client_id: Type.String(),
  filters: Type.Array(Type.String(), { description: 'Those that match, with mountpoint' }),
  group: Type.Optional(Type.String()),
  qos: Type.Integer({ description: 'At which this client gets it' }),
  connected: Type.Boolean(),
  queue: Type.Object({
    inflight: Type.Integer(),
    window: Type.Integer({ description: 'So many may be in flight; 0: away' }),
    queued: Type.Integer(),
    max: Type.Integer({ description: '0: no limit' }),
    full: Type.Boolean(),
  }),
  would: text('send, queue or drop'),
  why: Type.Optional(text('It is not sent at once')),
  drops_oldest: Type.Optional(Type.Boolean()),
});

const published = Type.Object({
  client,
  acl,
  topic: text('With mountpoint'),
  hooks,
  retained: Type.Object({
    would: text('none, kept, removed or refused'),
    why: Type.Optional(Type.String()),
  }),
  count: Type.Integer({ description: 'Of all receivers, shared subscriptions apart' }),
  receivers: Type.Array(receiver),
  groups: Type.Array(
    Type.Object({
      group: Type.String(),
      filter: Type.String(),
      strategy: Type.String(),
      members: Type.Integer(),
      candidates: Type.Array(receiver, { description: 'Several: one of them by chance' }),
    }),
  ),
  dropped_because: Type.Optional(Type.String()),
  missing: Type.Optional(
    Type.Array(Type.String(), { description: 'Workers that did not answer in time' }),
  ),
});

const subscribed = Type.Object({
  client,
  acl,
  filter: Type.String(),
  topic: text('What it matches: without group, with mountpoint'),
  group: Type.Optional(Type.String()),
  hooks,
  granted: Type.Optional(Type.Integer()),
  refused_because: Type.Optional(Type.String()),
  replaces: Type.Boolean({ description: 'The session has a subscription to this filter' }),
  subscriptions: Type.Object({
    count: Type.Integer(),
    max: Type.Integer({ description: '0: no limit' }),
  }),
  retained: Type.Object({ count: Type.Integer(), more: Type.Boolean() }),
});

export function explainOperations({ node, settings }: AdminParts): AnyOperation[] {
  const parts = () => ({ workers: node.workers, settings });
  return [
    define({
      name: 'explain_publish',
      descr: 'Whom a message would reach and why; nothing is sent',
      tag,
      http: { method: 'POST', path: '/explain/publish' },
      cli: {
        words: 'explain publish',
        args: ['client_id', 'topic', 'qos?'],
        usage: '<ClientId> <Topic> [<QoS>]',
        descr: 'Explain whom a message would reach',
        print: (said: PublishExplained, params) => publishTree(said, params.qos),
      },
      params: Type.Object({
        ...asker,
        topic: text('As the client would write it'),
        qos,
        retain: Type.Boolean({ default: false }),
        size: Type.Integer({
          minimum: 0,
          maximum: payloadBytesMax,
          default: 1,
          description: 'Of the payload, in bytes',
        }),
        limit: Type.Integer({
          minimum: 1,
          maximum: receiversMax,
          default: 100,
          description: 'Receivers that are listed',
        }),
      }),
      result: published,
      run: ({ topic, retain, size, limit, ...params }) => {
        const publish = { topic, qos: params.qos as QoS, retain, payloadBytes: size };
        return explainPublish(parts(), wishOf(params), publish, limit);
      },
    }),
    define({
      name: 'explain_subscribe',
      descr: 'Whether a client may subscribe, and what it would be sent; nothing is entered',
      tag,
      http: { method: 'POST', path: '/explain/subscribe' },
      cli: {
        words: 'explain subscribe',
        args: ['client_id', 'topic', 'qos?'],
        usage: '<ClientId> <Filter> [<QoS>]',
        descr: 'Explain what a subscription would come to',
        print: (said: SubscribeExplained, params) => subscribeTree(said, params.qos),
      },
      params: Type.Object({ ...asker, topic: text('A topic filter'), qos }),
      result: subscribed,
      run: ({ topic, ...params }) =>
        explainSubscribe(parts(), wishOf(params), topic, params.qos as QoS),
    }),
  ];
}

interface AskerParams {
  readonly client_id?: string;
  readonly username?: string;
  readonly ip?: string;
  readonly zone?: string;
}

function wishOf({ client_id: clientId, username, ip, zone }: AskerParams): AskerWish {
  return { clientId, username, ip, zone };
}
