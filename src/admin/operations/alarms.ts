// Alarms: those that are present, and when each was cleared the last time.

import { type TArray, type TObject, Type } from 'typebox';
import { type AlarmItem, alarmItem, type PastAlarmItem, pastAlarmItem } from '../alarm-words.ts';
import { type AnyOperation, define, type HttpFace } from '../operation.ts';
import { noParams } from '../paging.ts';
import type { AdminParts } from '../parts.ts';
import { checkNode, nodeParams } from '../this-node.ts';

const present = Type.Array(
  Type.Object({
    id: Type.String(),
    desc: Type.Union([
      Type.String(),
      Type.Object({
        severity: Type.String({ description: 'notice, warning, error or critical' }),
        title: Type.String(),
        summary: Type.String(),
        timestamp: Type.String({ description: 'Local time, YYYY-MM-DD hh:mm:ss' }),
      }),
    ]),
  }),
);
const past = Type.Array(
  Type.Object({
    id: Type.String(),
    desc: Type.String({
      description: 'A text for every alarm: its title and what was known of it',
      examples: ['The broker is overloaded: level: pause'],
    }),
    clear_at: Type.String({ description: 'Local time, YYYY-MM-DD hh:mm:ss' }),
  }),
);

type OfNode<T> = readonly { readonly node: string; readonly alarms: readonly T[] }[];

export function alarmOperations(parts: AdminParts): AnyOperation[] {
  const { node, settings } = parts;
  const ofNode = <T>(alarms: T[]): OfNode<T> => [{ node: settings.node.name, alarms }];
  const presentItems = (): AlarmItem[] => node.alarms.present().map(alarmItem);
  const pastItems = (): PastAlarmItem[] => node.alarms.history().map(pastAlarmItem);
  const ofOne = <T>(name: string, items: () => T[]): T[] => {
    checkNode(settings, name);
    return items();
  };
  const all = { name: 'list_all_alarms', descr: 'List all alarms', tag: 'Alarms' };
  const one = { name: 'list_node_alarms', descr: 'List alarms of a node', tag: 'Alarms' };
  const get = (path: HttpFace['path'], indexPath: string = path): HttpFace => ({
    method: 'GET',
    path,
    indexPath,
  });
  return [
    define({
      ...all,
      http: get('/alarms/present'),
      cli: { words: 'alarms list', args: [], print: printed },
      params: noParams,
      result: byNode(present),
      run: () => ofNode(presentItems()),
    }),
    define({
      ...one,
      http: get('/alarms/present/:node'),
      params: nodeParams,
      result: present,
      run: (params) => ofOne(params.node, presentItems),
    }),
    define({
      name: 'list_all_alarm_history',
      descr: 'List all alarm history',
      tag: 'Alarms',
      http: get('/alarms/history'),
      cli: { words: 'alarms history', args: [], print: printed },
      params: noParams,
      result: byNode(past),
      run: () => ofNode(pastItems()),
    }),
    define({
      name: 'list_node_alarm_history',
      descr: 'List alarm history of a node',
      tag: 'Alarms',
      http: get('/alarms/history/:node'),
      params: nodeParams,
      result: past,
      run: (params) => ofOne(params.node, pastItems),
    }),
    define({
      ...all,
      http: get('/alarms', '/alarms/'),
      params: noParams,
      result: byNode(present),
      run: () => ofNode(presentItems()),
    }),
    define({
      ...one,
      http: get('/alarms/:node'),
      params: nodeParams,
      result: present,
      run: (params) => ofOne(params.node, presentItems),
    }),
  ];
}

function byNode(items: TArray<TObject>): TArray {
  return Type.Array(Type.Object({ node: Type.String(), alarms: items }));
}

/** `Alarm(store, severity=critical, title=…)`, as lines of other lists are printed. */
function printed(nodes: OfNode<AlarmItem | PastAlarmItem>): string {
  return nodes.flatMap(({ alarms }) => alarms.map(lineOf)).join('\n');
}

function lineOf(item: AlarmItem | PastAlarmItem): string {
  const { id, desc } = item;
  const fields = typeof desc === 'string' ? { desc } : { ...desc };
  const all = 'clear_at' in item ? { ...fields, clear_at: item.clear_at } : fields;
  const texts = Object.entries(all).map(([key, value]) => `${key}=${value}`);
  return `Alarm(${[id, ...texts].join(', ')})`;
}
