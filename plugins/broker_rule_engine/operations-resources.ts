// Resources: created, tested, listed, changed, started, deleted.

import type { ResourceService, ResourceStatus } from '#sdk';
import { type AnyOperation, defineOperation, Type } from '#sdk/operations';
import { found, isTest, tag, wrongParams } from './fields.ts';
import {
  exampleResource,
  exampleStatus,
  plainRowOf,
  resourceLine,
  type ResourceRow,
  resourceSchema,
  rowOf,
} from './resource-row.ts';
import { answering } from './rule-refusal.ts';

const id = Type.String({ minLength: 1, description: 'Of the resource: resource:1a2b3c4d' });
const config = Type.Optional(
  Type.Record(Type.String(), Type.Unknown(), { description: 'As the type describes it' }),
);
const type = Type.String({ description: 'As GET /resource_types shows it' });
const description = Type.Optional(Type.String());
const exampleConfig = { url: 'http://127.0.0.1:9910', headers: { authorization: 'Bearer t0k3n' } };

export function resourceOperations(service: ResourceService): AnyOperation[] {
  return [
    listing(service),
    showing(service),
    creating(service),
    testing(service),
    updating(service),
    starting(service),
    deleting(service),
    telling(service),
  ];
}

function listing(service: ResourceService): AnyOperation {
  return defineOperation({
    name: 'list_resources',
    descr: 'A list of all resources',
    tag,
    http: { method: 'GET', path: '/resources', indexPath: '/resources/' },
    cli: {
      words: 'resources list',
      args: [],
      options: { '-t': 'type' },
      usage: '[-t <ResourceType>]',
      descr: 'List resources',
      print: (rows: readonly ResourceRow[]) => rows.map(resourceLine).join('\n'),
    },
    params: Type.Object({
      type: Type.Optional(Type.String({ description: 'Only those of this type' })),
    }),
    result: Type.Array(resourceSchema),
    example: { data: [exampleResource] },
    run: (params, caller) => {
      const rows = service.list(params.type);
      return rows.map(caller.port === undefined ? rowOf : plainRowOf);
    },
  });
}

function showing(service: ResourceService): AnyOperation {
  return defineOperation({
    name: 'show_resource',
    descr: 'Show a resource',
    tag,
    http: { method: 'GET', path: '/resources/:id' },
    cli: {
      words: 'resources show',
      args: ['id'],
      usage: '<ResourceId>',
      print: resourceLine,
      printFailure: (_failure, params) => `Cannot found ${params.id}`,
    },
    params: Type.Object({ id }),
    result: resourceSchema,
    example: {
      params: { id: exampleResource.id },
      data: { ...exampleResource, status: exampleStatus },
    },
    run: (params) => rowOf(found(service.get(params.id))),
  });
}

function creating(service: ResourceService): AnyOperation {
  return defineOperation({
    name: 'create_resource',
    descr: 'Create a resource',
    tag,
    http: { method: 'POST', path: '/resources', indexPath: '/resources/' },
    cli: {
      words: 'resources create',
      args: ['type'],
      olderArgs: ['name', 'type'],
      options: {
        '-c': 'config',
        '--config': 'config',
        '-n': 'name',
        '-d': 'description',
        '--descr': 'description',
      },
      usage: '<ResourceType> [-c <Config>] [-d <Descr>] [-n <Name>]',
      descr: 'Create a resource',
      print: (row: ResourceRow) => `Resource ${row.id} created`,
      printFailure: ({ message }) => `Invalid options: ${message}`,
    },
    params: Type.Object({
      type,
      config,
      description,
      name: Type.Optional(
        Type.String({ description: 'The id is <type>:<name> then; one that is there is replaced' }),
      ),
      test: Type.Optional(
        Type.Union([Type.Boolean(), Type.Literal('')], {
          description: 'true: only find out whether it would come alive; nothing is created',
        }),
      ),
    }),
    wrongParams,
    result: Type.Union([resourceSchema, Type.Null()]),
    example: {
      params: { type: 'web_hook', name: 'alerts', config: exampleConfig, description: 'Alerts' },
      data: exampleResource,
    },
    async run({ test, ...spec }) {
      if (!isTest(test)) return plainRowOf(await answering(() => service.create(spec)));
      await answering(() => service.test(spec));
      return undefined;
    },
  });
}

function testing(service: ResourceService): AnyOperation {
  return defineOperation({
    name: 'test_resource',
    descr: 'Find out whether a resource would come alive; nothing is created',
    tag,
    cli: {
      words: 'resources test',
      args: ['type'],
      options: { '-c': 'config', '--config': 'config' },
      usage: '<ResourceType> [-c <Config>]',
      descr: 'Test whether a resource would come alive',
      print: () => 'Test creating resource successfully (dry-run)',
      printFailure: ({ message }) =>
        `Test creating resource failed: ${message.replace(/^Test Creating Resource Failed: /, '')}`,
    },
    params: Type.Object({ type, config }),
    wrongParams,
    async run(spec) {
      await answering(() => service.test(spec));
    },
  });
}

function updating(service: ResourceService): AnyOperation {
  return defineOperation({
    name: 'update_resource',
    descr: 'Change what is named of a resource and start it anew; ****** keeps a secret',
    tag,
    http: { method: 'PUT', path: '/resources/:id' },
    params: Type.Object({ id, config, description }),
    wrongParams,
    result: resourceSchema,
    example: {
      params: { id: exampleResource.id, description: 'Alerts' },
      data: { ...exampleResource, status: exampleStatus },
    },
    async run({ id: which, ...change }) {
      return rowOf(await answering(() => service.update(which, change)));
    },
  });
}

function starting(service: ResourceService): AnyOperation {
  return defineOperation({
    name: 'start_resource',
    descr: 'Start a resource',
    tag,
    http: { method: 'POST', path: '/resources/:id' },
    params: Type.Object({ id }),
    example: { params: { id: 'built_in:debug' } },
    async run(params) {
      await answering(() => service.start(params.id));
    },
  });
}

function deleting(service: ResourceService): AnyOperation {
  return defineOperation({
    name: 'delete_resource',
    descr: 'Delete a resource',
    tag,
    http: { method: 'DELETE', path: '/resources/:id' },
    cli: {
      words: 'resources delete',
      args: ['id'],
      usage: '<ResourceId>',
      descr: 'Delete a resource',
      print: () => 'ok',
      printFailure: ({ message }) =>
        `Cannot delete resource as ${message.replace(/^Bad Arguments: /, '')}`,
    },
    params: Type.Object({ id }),
    example: { params: { id: exampleResource.id } },
    async run(params) {
      await answering(() => service.delete(params.id));
    },
  });
}

function telling(service: ResourceService): AnyOperation {
  return defineOperation({
    name: 'get_resource_status',
    descr: 'Get status of a resource',
    tag,
    http: { method: 'GET', path: '/resource_status/:id' },
    params: Type.Object({ id }),
    result: Type.Object({ is_alive: Type.Boolean() }),
    example: { params: { id: exampleResource.id }, data: { is_alive: true } },
    async run(params): Promise<Pick<ResourceStatus, 'is_alive'>> {
      const { is_alive } = await answering(() => service.status(params.id));
      return { is_alive };
    },
  });
}
