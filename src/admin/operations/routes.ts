// The routes: which filters somebody on a node is subscribed to, each once for the node however many
// sessions and workers have it.

import { type Static, Type } from 'typebox';
import { behind } from '#node/list-orders';
import type { RouteFacts } from '#node/list-rows';
import { pageOf, rowsOf } from '../lists.ts';
import { type AnyOperation, define, type Page } from '../operation.ts';
import { pagingParams } from '../paging.ts';
import type { AdminParts } from '../parts.ts';

const tag = 'Routes';

const routeRow = Type.Object({
  topic: Type.String({ description: 'The filter, of shared subscriptions without their prefix' }),
  node: Type.String(),
});
type RouteRow = Static<typeof routeRow>;

export function routeOperations(parts: AdminParts): AnyOperation[] {
  const { settings } = parts;
  const rowOf = ({ topic }: RouteFacts): RouteRow => ({ topic, node: settings.node.name });
  return [
    define({
      name: 'list_routes',
      descr: 'List routes',
      tag,
      http: { method: 'GET', path: '/routes', indexPath: '/routes/' },
      cli: {
        words: 'routes list',
        args: [],
        descr: 'List all routes',
        print: ({ rows }: Page<RouteRow>) => rows.map(lineOf).join('\n'),
      },
      params: Type.Object(pagingParams(settings.management.rowsMax)),
      result: Type.Array(routeRow),
      run: (params, caller) => pageOf(parts, 'routes', params, caller, rowOf),
    }),
    define({
      name: 'lookup_routes',
      descr: 'Lookup routes to a topic',
      tag,
      http: { method: 'GET', path: '/routes/:topic' },
      cli: {
        words: 'routes show',
        args: ['topic'],
        usage: '<Topic>',
        descr: 'Show a route',
        print: (rows: readonly RouteRow[]) => rows.map(lineOf).join('\n'),
      },
      params: Type.Object({
        topic: Type.String({ minLength: 1, description: 'The text of the route: no match' }),
      }),
      result: Type.Array(routeRow),
      run: ({ topic }, { signal }) =>
        rowsOf(parts, 'routes', { from: topic, to: behind(topic), signal }, rowOf),
    }),
  ];
}

const lineOf = ({ topic, node }: RouteRow): string => `${topic} -> ${node}`;
