// A resource and a type of resources, as REST answers them and as the command line prints them.

import type { ResourceStatus, ResourceTypeView, ResourceView } from '#sdk';
import { type TSchema, Type } from '#sdk/operations';
import { words } from './fields.ts';
import { oneLine } from './rule-row.ts';

export interface ResourceRow {
  readonly id: string;
  readonly name?: string;
  readonly type: string;
  readonly config: Readonly<Record<string, unknown>>;
  readonly attrs: 'undefined';
  readonly description: string;
  readonly status?: readonly ResourceStatus[];
}

export const resourceSchema: TSchema = Type.Object({
  id: Type.String(),
  name: Type.Optional(Type.String()),
  type: Type.String(),
  config: Type.Record(Type.String(), Type.Unknown(), {
    description: 'With defaults filled in; secrets are ******',
  }),
  attrs: Type.String({ description: 'Always undefined' }),
  description: Type.String(),
  status: Type.Optional(
    Type.Array(Type.Object({ node: Type.String(), is_alive: Type.Boolean() }), {
      description: 'By node, as of the last look; there is one every 10 seconds',
    }),
  ),
});

export const typeSchema: TSchema = Type.Object({
  name: Type.String(),
  provider: Type.String({ description: 'Who brings it' }),
  params: Type.Record(Type.String(), Type.Unknown(), {
    description: 'By name: type, required, default, enum, format, schema, title, description',
  }),
  title: words,
  description: words,
});

/** As lists have it. */
export function plainRowOf({ id, name, type, config, description }: ResourceView): ResourceRow {
  const named = name === undefined ? {} : { name };
  return { id, ...named, type, config, attrs: 'undefined', description };
}

export function rowOf(resource: ResourceView): ResourceRow {
  return { ...plainRowOf(resource), status: resource.status };
}

/** `resource(id='resource:1a2b3c4d', type='web_hook', config=#{…}, status=[#{…}], description='')` */
export function resourceLine({ id, name, type, config, status, description }: ResourceRow): string {
  const parts = [
    `id='${id}'`,
    ...(name === undefined ? [] : [`name='${name}'`]),
    `type='${type}'`,
    `config=${term(config)}`,
    ...(status === undefined ? [] : [`status=[${status.map(statusTerm).join(',')}]`]),
    `description='${description}'`,
  ];
  return oneLine(`resource(${parts.join(', ')})`);
}

/** With the blank that the original has before the `=` of the title. */
export function typeLine({ name, provider, title, description }: ResourceTypeView): string {
  const head = `name='${name}', provider='${provider}'`;
  return oneLine(`resource_type(${head}, title ='${title.en}', description='${description.en}')`);
}

function statusTerm({ node, is_alive: isAlive }: ResourceStatus): string {
  return `#{is_alive => ${isAlive},node => '${node}'}`;
}

/** As the original prints values: people have scripts that look for it. */
function term(value: unknown): string {
  if (typeof value === 'string') return `<<${JSON.stringify(value)}>>`;
  if (Array.isArray(value)) return `[${value.map(term).join(',')}]`;
  if (typeof value !== 'object' || value === null) return String(value);
  const members = Object.entries(value).map(([key, one]) => `${term(key)} => ${term(one)}`);
  return `#{${members.join(',')}}`;
}

export const exampleResource: ResourceRow = {
  id: 'web_hook:alerts',
  name: 'alerts',
  type: 'web_hook',
  config: { url: 'http://127.0.0.1:9910', headers: {}, method: 'POST' },
  attrs: 'undefined',
  description: 'Alerts',
};

export const exampleStatus: readonly ResourceStatus[] = [
  { node: 'broker@127.0.0.1', is_alive: true },
];
