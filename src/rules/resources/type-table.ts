// Kinds of resources that there are, by name.

import { paramViews } from '../actions/param-spec.ts';
import type { ResourceTypeView } from './resource-service.ts';
import { defineResourceType, type ResourceType } from './resource-type.ts';
import { webHook } from './web-hook.ts';

/** For trying things out: always there, and needs nothing. */
const builtIn: ResourceType = defineResourceType({
  name: 'built_in',
  provider: 'broker_rule_engine',
  title: { en: 'Built-in', zh: '内置' },
  description: { en: 'The resource that is always there, for debugging', zh: '内置资源，用于调试' },
  params: {},
  create: () => ({
    concurrency: 1,
    batchMax: 1,
    isAlive: () => Promise.resolve(true),
    perform: () => Promise.resolve(),
    close: () => undefined,
  }),
});

const table: readonly ResourceType[] = [builtIn, webHook];
const byName: ReadonlyMap<string, ResourceType> = new Map(table.map((type) => [type.name, type]));

export function resourceTypeNamed(name: string): ResourceType | undefined {
  return byName.get(name);
}

/** By English title. */
export function resourceTypeViews(): readonly ResourceTypeView[] {
  return table.toSorted((a, b) => (a.title.en < b.title.en ? -1 : 1)).map(typeViewOf);
}

export function typeViewOf(type: ResourceType): ResourceTypeView {
  const { name, provider, params, title, description } = type;
  return { name, provider, params: paramViews(params), title, description };
}
