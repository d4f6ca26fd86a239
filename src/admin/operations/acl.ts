// The file of access rules: read anew, and asked what it would decide; and what clients were decided about
// lately, which is remembered for a while.

import { type TLiteral, type TUnion, Type } from 'typebox';
import type { RememberedRight } from '#core/rights';
import { type Access, checkAccess, parseWho, type SupposedAccess } from '../acl-check.ts';
import type { Reloaded } from '../acl.ts';
import { printable } from '../explain-tree.ts';
import { OperatingError } from '../failures.ts';
import { clientParams } from '../lists.ts';
import { operating } from '../operating.ts';
import { type AnyOperation, define } from '../operation.ts';
import { noParams } from '../paging.ts';
import type { AdminParts } from '../parts.ts';

const tag = 'Access control';
const text = (description: string) => Type.String({ description });
const action: TUnion<[TLiteral<'publish'>, TLiteral<'subscribe'>]> = Type.Union(
  [Type.Literal('publish'), Type.Literal('subscribe')],
  { description: 'publish or subscribe' },
);
const topic = text(
  'A topic to publish to, or a topic filter to subscribe to, as a client writes it',
);

export function aclOperations(parts: AdminParts): AnyOperation[] {
  return [reloading(parts), ...checking(parts), ...remembering(parts)];
}

function reloading({ services }: AdminParts): AnyOperation {
  return define({
    name: 'reload_acl',
    descr: 'Read the file of access rules anew; one that cannot be read changes nothing',
    tag,
    http: { method: 'PUT', path: '/acl/reload' },
    cli: {
      words: 'acl reload',
      args: [],
      descr: 'Read the file of access rules anew',
      print: reloadedText,
    },
    params: noParams,
    result: Type.Object({
      rules: Type.Integer({ description: 'That hold now' }),
      subscriptions: Type.Integer({
        description: 'That ended, because they are no longer allowed',
      }),
      clients: Type.Integer({ description: 'Whose subscriptions these were' }),
      messages: Type.Integer({ description: 'That waited for them and were dropped' }),
      undecided: Type.Integer({
        description: 'Subscriptions that a plugin could not be asked about; they stay',
      }),
      missing: Type.Array(Type.String(), {
        description: 'Workers that did not say in time what ended; the rules hold there, too',
      }),
    }),
    run: () => services.acl.reload(),
  });
}

function reloadedText(reloaded: Reloaded): string {
  const { rules, subscriptions, clients, undecided, missing } = reloaded;
  const ended = `${counted(subscriptions, 'subscription')} of ${counted(clients, 'client')} ended`;
  const told = `Reloaded ${counted(rules, 'rule')}; ${ended}`;
  return [
    told,
    ...(undecided === 0 ? [] : [`${counted(undecided, 'subscription')} could not be asked about`]),
    ...missing.map((one) => `no answer from ${one}`),
  ].join('\n');
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

function checking(parts: AdminParts): AnyOperation[] {
  const check = (asked: SupposedAccess) =>
    checkAccess({ workers: parts.node.workers, settings: parts.settings }, asked);
  const result = Type.Object({
    allow: Type.Boolean(),
    by: text(
      'acl_internal (a rule of the file), nomatch (acl_nomatch), superuser, off (enable_acl), system ($SYS/), or the plugin that decided',
    ),
    rule: Type.Optional(text('The rule that decided')),
    source: Type.Optional(text('Where it stands: file and line')),
    client_id: Type.String(),
    username: Type.Union([Type.String(), Type.Null()]),
    ipaddress: text('Empty: not known; then rules about addresses do not match'),
    zone: Type.String(),
    mountpoint: text('Not part of what rules are asked about'),
    state: text('connected, session (away), or supposed'),
  });
  return [
    define({
      name: 'check_acl',
      descr: 'Whether a client may publish or subscribe, and which rule says so; nothing is sent',
      tag,
      http: { method: 'GET', path: '/acl/check' },
      params: Type.Object({
        client_id: Type.Optional(
          text('Alone: a client that is connected or has a session. Otherwise: of one that might'),
        ),
        username: Type.Optional(text('Of a client that might connect')),
        ip: Type.Optional(text('Its address')),
        zone: Type.Optional(text('Of the listener that it would come to: external')),
        action,
        topic,
      }),
      result,
      run: ({ client_id: clientId, username, ip, zone, ...asked }) =>
        check({ ...asked, wish: { clientId, username, ip, zone } }),
    }),
    define({
      name: 'acl_check',
      descr: 'Whether a client may publish or subscribe, and which rule says so',
      tag,
      cli: {
        words: 'acl check',
        args: ['who', 'action', 'topic'],
        usage: '<Who> <publish|subscribe> <Topic>',
        descr:
          'Ask which rule decides; <Who>: a client id, or client=<id>,user=<name>,ip=<address>',
        print: accessText,
      },
      params: Type.Object({
        who: Type.String({
          minLength: 1,
          description: 'A client id, or client=…,user=…,ip=…,zone=… of a client that might connect',
        }),
        action,
        topic,
      }),
      result,
      run: ({ who, ...asked }) => check({ ...asked, wish: parseWho(who) }),
    }),
  ];
}

/** `deny by etc/acl.conf:12 {deny, all, subscribe, ["$SYS/#"]}.` */
function accessText({ allow, by, rule, source }: Access): string {
  const why = rule === undefined ? by : `${source} ${rule}`;
  return printable(`${allow ? 'allow' : 'deny'} by ${why}`);
}

interface RightRow {
  readonly access: 'publish' | 'subscribe';
  readonly topic: string;
  readonly result: 'allow' | 'deny';
  readonly age: number;
}

function remembering({ node }: AdminParts): AnyOperation[] {
  return [
    define({
      name: 'list_acl_cache',
      descr: 'What a connected client was allowed and refused lately, as it is remembered',
      tag,
      http: { method: 'GET', path: '/connections/:clientid/acl_cache' },
      cli: {
        words: 'acl cache',
        args: ['clientid'],
        usage: '<ClientId>',
        descr: 'Show the decisions that are remembered for a client',
        print: (rows: readonly RightRow[]) => rows.map(rightLine).join('\n'),
        printFailure: notFoundText,
      },
      params: clientParams,
      result: Type.Array(
        Type.Object({
          access: action,
          topic: Type.String(),
          result: Type.Union([Type.Literal('allow'), Type.Literal('deny')]),
          age: Type.Integer({ description: 'Milliseconds; forgotten after acl_cache_ttl' }),
        }),
      ),
      async run({ clientid }) {
        const rights = await operating(node.workers.atClient(clientid, 'rightsOf', [clientid]));
        if (rights === undefined) throw new OperatingError('notOnline', 'not_found');
        return rights.map(rightRow);
      },
    }),
    define({
      name: 'clean_acl_cache',
      descr: 'Forget what a connected client was allowed and refused',
      tag,
      http: { method: 'DELETE', path: '/connections/:clientid/acl_cache' },
      params: clientParams,
      run: ({ clientid }) => forgetOne(node, clientid),
    }),
    define({
      name: 'clean_all_acl_cache',
      descr: 'Forget what all clients were allowed and refused',
      tag,
      http: { method: 'DELETE', path: '/acl_cache' },
      params: noParams,
      run: () => forgetAll(node),
    }),
    define({
      name: 'acl_cache_clean',
      descr: 'Forget the decisions that are remembered for a client, or for all',
      tag,
      cli: {
        words: 'acl cache-clean',
        args: ['clientid?'],
        usage: '[<ClientId>]',
        print: () => 'ok',
        printFailure: notFoundText,
      },
      params: Type.Object({ clientid: Type.Optional(clientParams.properties.clientid) }),
      run: ({ clientid }) => (clientid === undefined ? forgetAll(node) : forgetOne(node, clientid)),
    }),
  ];
}

type WithWorkers = Pick<AdminParts['node'], 'workers'>;

async function forgetOne({ workers }: WithWorkers, clientId: string): Promise<void> {
  const rights = await operating(workers.atClient(clientId, 'rightsOf', [clientId]));
  if (rights === undefined) throw new OperatingError('notOnline', 'not_found');
  await operating(workers.atClient(clientId, 'forgetRights', [clientId]));
}

async function forgetAll({ workers }: WithWorkers): Promise<void> {
  const { missing } = await workers.everywhere('forgetRights', [undefined]);
  const [lost] = missing;
  if (lost === undefined) return;
  throw new OperatingError('badCall', `Cannot clean the cache: ${lost.join(': ')}`);
}

function notFoundText({ message }: OperatingError): string {
  return message === 'not_found' ? 'Not Found.' : message;
}

function rightRow({ action: access, topic: of, isAllowed, ageMs }: RememberedRight): RightRow {
  return { access, topic: of, result: isAllowed ? 'allow' : 'deny', age: Math.round(ageMs) };
}

/** `allow publish plant/1/temperature, 12.3 s ago` */
function rightLine({ access, topic: of, result, age }: RightRow): string {
  return printable(`${result} ${access} ${of}, ${(age / 1000).toFixed(1)} s ago`);
}
