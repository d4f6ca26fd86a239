// Kinds of resources: what there are, their resources, and the actions that work with them.

import type { ResourceService, ResourceTypeView } from '#sdk';
import {
  type AnyOperation,
  defineOperation,
  noParams,
  OperatingError,
  Type,
} from '#sdk/operations';
import { tag } from './fields.ts';
import { actionRowOf, actionSchema, exampleAction } from './operations-actions.ts';
import {
  exampleResource,
  plainRowOf,
  resourceSchema,
  typeLine,
  typeSchema,
} from './resource-row.ts';

const params = Type.Object({ type: Type.String({ minLength: 1, description: 'web_hook' }) });

export function resourceTypeOperations(service: ResourceService): AnyOperation[] {
  return [listing(service), showing(service), resourcesOf(service), actionsOf(service)];
}

function listing(service: ResourceService): AnyOperation {
  return defineOperation({
    name: 'list_resource_types',
    descr: 'List all resource types',
    tag,
    http: { method: 'GET', path: '/resource_types', indexPath: '/resource_types/' },
    cli: {
      words: 'resource-types list',
      args: [],
      descr: 'List all resource-types',
      print: (rows: readonly ResourceTypeView[]) => rows.map(typeLine).join('\n'),
    },
    params: noParams,
    result: Type.Array(typeSchema),
    example: { data: [{ ...exampleType, name: 'built_in', params: {} }] },
    run: () => service.types(),
  });
}

function showing(service: ResourceService): AnyOperation {
  return defineOperation({
    name: 'show_resource_type',
    descr: 'Show a resource type',
    tag,
    http: {
      method: 'GET',
      path: '/resource_types/:type',
      indexPath: '/resource_types/:name',
    },
    cli: {
      words: 'resource-types show',
      args: ['type'],
      usage: '<Type>',
      descr: 'Show a resource-type',
      print: typeLine,
      printFailure: (_failure, asked) => `Cannot found ${asked.type}`,
    },
    params,
    result: typeSchema,
    example: { params: { type: 'web_hook' }, data: exampleType },
    run: ({ type }) => found(service, type),
  });
}

function resourcesOf(service: ResourceService): AnyOperation {
  return defineOperation({
    name: 'list_resources_by_type',
    descr: 'List all resources of a resource type',
    tag,
    http: { method: 'GET', path: '/resource_types/:type/resources' },
    params,
    result: Type.Array(resourceSchema),
    example: { params: { type: 'web_hook' }, data: [exampleResource] },
    run: ({ type }) => service.list(found(service, type).name).map(plainRowOf),
  });
}

function actionsOf(service: ResourceService): AnyOperation {
  return defineOperation({
    name: 'list_actions_by_type',
    descr: 'List all actions of a resource type',
    tag,
    http: { method: 'GET', path: '/resource_types/:type/actions' },
    params,
    result: Type.Array(actionSchema),
    example: {
      params: { type: 'web_hook' },
      data: [{ ...exampleAction, name: 'data_to_webserver', types: ['web_hook'] }],
    },
    run: ({ type }) => service.actionsOf(found(service, type).name).map(actionRowOf),
  });
}

function found(service: ResourceService, type: string): ResourceTypeView {
  const view = service.type(type);
  if (view === undefined) throw new OperatingError('notFound', 'Not Found');
  return view;
}

const exampleType: ResourceTypeView = {
  name: 'web_hook',
  provider: 'broker_web_hook',
  params: {
    url: {
      order: 1,
      type: 'string',
      required: true,
      format: 'url',
      title: { en: 'Request URL', zh: '请求 URL' },
      description: { en: 'Of the web server', zh: 'Web 服务器的 URL' },
    },
  },
  title: { en: 'WebHook', zh: 'WebHook' },
  description: { en: 'WebHook', zh: 'WebHook' },
};
