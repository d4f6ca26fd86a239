// The list of bans. Who is banned by client id, username or address is refused at CONNECT, and ended if
// it is connected, in zones with `enable_ban`.

import { type TSchema, Type } from 'typebox';
import { banKinds, type BanKind } from '#access/banned';
import type { BanEntry } from '../bans.ts';
import { OperatingError } from '../failures.ts';
import { type AnyOperation, define, Page } from '../operation.ts';
import { pagingParams, sliceOf } from '../paging.ts';
import type { AdminParts } from '../parts.ts';

/** Of a later version of the interface. */
const otherNames: ReadonlyMap<string, BanKind> = new Map([
  ['clientid', 'client_id'],
  ['peerhost', 'ip_address'],
]);

const name = {
  who: Type.String({
    minLength: 1,
    maxLength: 65_535,
    description: 'The client id, the username, or the address, also a range like 10.0.0.0/8',
  }),
  as: Type.String({ description: 'client_id, username or ip_address' }),
};

const textMax = 4096;
const optionalText = (description: string) =>
  Type.Optional(Type.String({ maxLength: textMax, description }));
/** So that milliseconds are exact. */
const secondsMax = Math.floor(Number.MAX_SAFE_INTEGER / 1000);

const banParams = Type.Object(
  {
    ...name,
    reason: optionalText('Why'),
    desc: optionalText('More about it'),
    by: optionalText('Who banned'),
    until: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: secondsMax,
        description: 'Unix time in seconds. Default: for ever',
      }),
    ),
    seconds: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 10 ** 10, description: 'In place of `until`: from now' }),
    ),
  },
  { additionalProperties: true },
);

const unset = Type.Literal('undefined');
const row: TSchema = Type.Object({
  who: Type.String(),
  as: Type.String(),
  reason: Type.String({ description: '`undefined` where it is not set' }),
  desc: Type.String(),
  by: Type.String(),
  until: Type.Union([Type.Integer({ description: 'Unix time in seconds' }), unset]),
});

interface BanRow {
  readonly who: string;
  readonly as: BanKind;
  readonly reason: string;
  readonly desc: string;
  readonly by: string;
  readonly until: number | 'undefined';
}

export function bannedOperations(
  parts: Pick<AdminParts, 'settings' | 'clock' | 'services'>,
): AnyOperation[] {
  const { clock } = parts;
  const { bans } = parts.services;
  return [
    listBanned(parts),
    define({
      name: 'create_banned',
      descr: 'Create banned',
      tag: 'Banned',
      http: { method: 'POST', path: '/banned', indexPath: '/banned/' },
      cli: {
        words: 'banned add',
        args: ['as', 'who', 'seconds?', 'reason?'],
        usage: '<As> <Who> [<Seconds>] [<Reason>]',
        descr: 'Ban by client_id, username or ip_address, for so long or for ever',
        fixed: { by: 'cli' },
        print: () => 'ok',
      },
      params: banParams,
      result: banParams,
      async run(params) {
        const { who, reason, desc, by, seconds } = params;
        const until = seconds === undefined ? params.until : untilIn(seconds, params.until, clock);
        await bans.add({ as: kindOf(params.as), who, reason, desc, by, until });
        // As it was sent, with whatever else was in it.
        return until === undefined ? params : { ...params, until };
      },
    }),
    define({
      name: 'delete_banned',
      descr: 'Delete banned',
      tag: 'Banned',
      http: { method: 'DELETE', path: '/banned/:who' },
      cli: { words: 'banned del', args: ['as', 'who'], print: () => 'ok' },
      params: Type.Object(name),
      async run({ as, who }) {
        await bans.remove({ as: kindOf(as), who });
      },
    }),
  ];
}

function listBanned({
  settings,
  services,
}: Pick<AdminParts, 'settings' | 'services'>): AnyOperation {
  const { rowsMax } = settings.management;
  return define({
    name: 'list_banned',
    descr: 'List banned',
    tag: 'Banned',
    http: { method: 'GET', path: '/banned', indexPath: '/banned/' },
    cli: {
      words: 'banned list',
      args: [],
      descr: 'List bans',
      print: ({ rows }) => rows.map(lineOf).join('\n'),
    },
    params: Type.Object(pagingParams(rowsMax)),
    result: Type.Array(row),
    run(params) {
      const { page, limit, offset } = sliceOf(params, rowsMax);
      const rows = services.bans.list(offset, limit).map(rowOf);
      return new Page(rows, { page, limit, count: services.bans.size });
    },
  });
}

function kindOf(as: string): BanKind {
  const kind = banKinds.find((one) => one === as) ?? otherNames.get(as);
  if (kind !== undefined) return kind;
  const names = banKinds.map((one) => `'${one}'`).join(', ');
  throw new OperatingError('invalid', `value of 'as' must be one of: [${names}]`);
}

function untilIn(
  seconds: number,
  until: number | undefined,
  clock: Pick<AdminParts['clock'], 'nowMs'>,
): number {
  if (until === undefined) return Math.ceil(clock.nowMs() / 1000) + seconds;
  throw new OperatingError('invalid', 'Cannot use until and seconds: expected one of them');
}

function rowOf({ who, as, reason, desc, by, until }: BanEntry): BanRow {
  const text = (value: string | undefined): string => value ?? 'undefined';
  return {
    who,
    as,
    reason: text(reason),
    desc: text(desc),
    by: text(by),
    until: until ?? 'undefined',
  };
}

function lineOf({ who, as, reason, desc, by, until }: BanRow): string {
  return `Banned(${as}=${who}, reason=${reason}, desc=${desc}, by=${by}, until=${until})`;
}
