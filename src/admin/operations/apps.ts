// Applications: who may use the REST API. Only users of the dashboard, and whoever is on the machine,
// manage them. A secret is shown once, when its application is added.

import { type TSchema, Type } from 'typebox';
import type { App, Apps } from '../apps.ts';
import { type AnyOperation, define } from '../operation.ts';
import { noParams } from '../paging.ts';
import type { AdminParts } from '../parts.ts';

const tag = 'Applications';
const port = 'dashboard';

/** Basic credentials end the name at the first colon. */
const appId = Type.String({
  minLength: 1,
  maxLength: 255,
  pattern: '^[^:\\s]+$',
  description: 'The id of the application, the user part of its credentials',
});
const appIdPath = Type.Object({ appid: Type.String({ description: 'The id of the application' }) });
const text = (description: string) => Type.Optional(Type.String({ maxLength: 1024, description }));
const never = Type.Union([Type.Null(), Type.Literal('undefined')]);
const expired = Type.Optional(
  Type.Union(
    [Type.Integer({ minimum: 0, maximum: Math.floor(Number.MAX_SAFE_INTEGER / 1000) }), never],
    { description: 'Unix time in seconds after which it is not let in any more; null: never' },
  ),
);
const status = Type.Optional(Type.Boolean({ description: 'Whether it is let in. Default: true' }));

const rowFields = {
  app_id: Type.String(),
  name: Type.String(),
  desc: Type.String(),
  status: Type.Boolean(),
  expired: Type.Union([Type.Integer(), Type.Literal('undefined')]),
};
const row: TSchema = Type.Object(rowFields);
const fullRow: TSchema = Type.Object({
  ...rowFields,
  secret: Type.String({ description: 'Stars: it is known to whoever added the application' }),
});

interface AppRow {
  readonly app_id: string;
  readonly name: string;
  readonly desc: string;
  readonly status: boolean;
  readonly expired: number | 'undefined';
}

/** Nothing is found: an empty array, as the original answers. */
type Found = (AppRow & { readonly secret: string }) | readonly never[];

/** Only its hash is kept. */
const hiddenSecret = '******';

export function appOperations({ services }: Pick<AdminParts, 'services'>): AnyOperation[] {
  const { apps } = services;
  return [addApp(apps), deleteApp(apps), listApps(apps), lookupApp(apps), updateApp(apps)];
}

function addApp(apps: Apps): AnyOperation {
  return define({
    name: 'add_app',
    descr: 'Add Application',
    tag,
    http: { method: 'POST', path: '/apps', indexPath: '/apps/', port },
    cli: {
      words: 'mgmt insert',
      args: ['app_id', 'name'],
      usage: '<AppId> <Name>',
      descr: 'Add Application of REST API',
      fixed: { desc: 'Application user', status: true },
      print: ({ secret }) => `AppSecret: ${secret}`,
      printFailure: ({ message }) => `Error: ${message}`,
    },
    params: Type.Object({
      app_id: appId,
      name: text('What it is called'),
      secret: Type.Optional(
        Type.String({
          maxLength: 255,
          description: 'Default: a random one, or the configured one',
        }),
      ),
      desc: text('What it is for'),
      status,
      expired,
    }),
    result: Type.Object({ secret: Type.String({ description: 'It is not shown again' }) }),
    async run({ app_id: id, secret, ...rest }) {
      const app = { name: '', desc: '', status: true, ...changesOf(rest), id };
      return { secret: await apps.add(app, secret) };
    },
  });
}

function deleteApp(apps: Apps): AnyOperation {
  return define({
    name: 'del_app',
    descr: 'Delete Application',
    tag,
    http: { method: 'DELETE', path: '/apps/:appid', port },
    cli: {
      words: 'mgmt delete',
      args: ['appid'],
      usage: '<AppId>',
      descr: 'Delete Application of REST API',
      print: () => 'ok',
    },
    params: appIdPath,
    run: ({ appid }) => apps.remove(appid),
  });
}

function listApps(apps: Apps): AnyOperation {
  return define({
    name: 'list_apps',
    descr: 'List Applications',
    tag,
    http: { method: 'GET', path: '/apps', indexPath: '/apps/', port },
    cli: {
      words: 'mgmt list',
      args: [],
      descr: 'List Applications',
      print: (rows) => rows.map((one) => fieldsOf(one).join(', ')).join('\n'),
    },
    params: noParams,
    result: Type.Array(row),
    run: () => apps.list().map(rowOf),
  });
}

function lookupApp(apps: Apps): AnyOperation {
  return define({
    name: 'lookup_app',
    descr: 'Lookup Application',
    tag,
    http: { method: 'GET', path: '/apps/:appid', port },
    cli: {
      words: 'mgmt lookup',
      args: ['appid'],
      usage: '<AppId>',
      descr: 'Get Application of REST API',
      print: (found: Found) => ('app_id' in found ? fieldsOf(found).join('\n') : 'Not Found.'),
    },
    params: appIdPath,
    result: Type.Union([fullRow, Type.Array(Type.Never(), { description: 'There is none' })]),
    run({ appid }): Found {
      const app = apps.find(appid);
      return app === undefined ? [] : { ...rowOf(app), secret: hiddenSecret };
    },
  });
}

function updateApp(apps: Apps): AnyOperation {
  return define({
    name: 'update_app',
    descr: 'Update Application',
    tag,
    http: { method: 'PUT', path: '/apps/:appid', port },
    cli: {
      words: 'mgmt update',
      args: ['appid', 'status'],
      usage: '<AppId> <status>',
      descr: 'Update Application of REST API',
      print: () => 'update successfully.',
      printFailure: ({ message }) => `Error: ${message}`,
    },
    params: Type.Object({
      ...appIdPath.properties,
      name: text('What it is called'),
      desc: text('What it is for'),
      status: Type.Optional(Type.Boolean({ description: 'Whether it is let in' })),
      expired,
    }),
    run: ({ appid, ...rest }) => apps.change(appid, changesOf(rest)),
  });
}

interface Changes {
  readonly name?: string;
  readonly desc?: string;
  readonly status?: boolean;
  readonly expired?: number | null | 'undefined';
}

function changesOf({ expired: until, ...rest }: Changes): Partial<Omit<App, 'id'>> {
  if (until === undefined) return rest;
  return { ...rest, expired: typeof until === 'number' ? until : undefined };
}

function rowOf({ id, name, desc, status: isOn, expired: until }: App): AppRow {
  return { app_id: id, name, desc, status: isOn, expired: until ?? 'undefined' };
}

function fieldsOf({ app_id: id, name, desc, status: isOn, expired: until }: AppRow): string[] {
  const fields = { app_id: id, secret: hiddenSecret, name, desc, status: isOn, expired: until };
  return Object.entries(fields).map(([field, value]) => `${field}: ${value}`);
}
