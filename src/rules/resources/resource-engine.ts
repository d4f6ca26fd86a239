// The resources of a node as management has them: kept, started in the integration thread, looked at every ten
// seconds. Laws: one that cannot be reached is there all the same and is tried again; a resource that was
// alive and is not any more is an alarm until it is; none goes while a rule needs it.

import { isDeepStrictEqual } from 'node:util';
import type { RecordStore } from '#core/store-port';
import { describeError } from '#base/errors';
import type { Logger } from '#base/log';
import { actionViews } from '../actions/action-table.ts';
import { named, RuleFault } from '../rule-fault.ts';
import type { ActionView, ResourcesToCome } from '../rule-service.ts';
import type { ResourceJob, ResourceOptions, ResourceOrder } from './job.ts';
import {
  configOf,
  exportedResources,
  idOfName,
  newResourceId,
  resourceRecordOf,
  type ResourceRecord,
  shownConfig,
} from './resource-record.ts';
import type {
  ExportedResource,
  ResourceChange,
  ResourceService,
  ResourceSpec,
  ResourceStatus,
  ResourceTypeView,
  ResourceView,
} from './resource-service.ts';
import { resourceTypeNamed, resourceTypeViews, typeViewOf } from './type-table.ts';

/** Where resources run. */
export interface ResourcePlace {
  uphold(orders: readonly ResourceOrder[], options: ResourceOptions): Promise<void>;
  alive(): Promise<readonly (readonly [string, boolean])[]>;
  test(
    type: string,
    config: ResourceRecord['config'],
    options: ResourceOptions,
  ): Promise<string | undefined>;
  perform(job: ResourceJob): Promise<void>;
  /** With what waits for it. */
  forget(id: string): Promise<void>;
}

export interface ResourceEngineParts {
  readonly records: RecordStore;
  readonly flushed: () => Promise<void>;
  readonly place: ResourcePlace;
  readonly options: ResourceOptions;
  readonly nodeName: string;
  readonly log: Logger;
  readonly alarms: {
    raise(name: string, details: Readonly<Record<string, unknown>>): void;
    clear(name: string): void;
  };
  /** A rule that needs it. */
  /** Told how many there are, whenever that changes. */
  readonly counted: (resources: number) => void;
  readonly userOf: (id: string) => string | undefined;
}

export const resourcesMax = 1000;
export const aliveEveryMs = 10_000;

interface Kept {
  readonly record: ResourceRecord;
  readonly revision: number;
  isAlive: boolean;
}

export class ResourceEngine implements ResourceService {
  readonly #parts: ResourceEngineParts;
  readonly #kept = new Map<string, Kept>();
  #revision = 0;
  #order = 0;

  constructor(parts: ResourceEngineParts) {
    this.#parts = parts;
    const found = [...parts.records.entries()].map(([, value]) => value as ResourceRecord);
    for (const record of found.toSorted((a, b) => a.order - b.order)) this.#put(record);
  }

  /** All that there are; with none there is nothing to start. */
  async begin(): Promise<void> {
    if (this.#kept.size > 0) await this.#inForce();
  }

  /** Nobody looks any more. */
  end(): void {
    for (const id of this.#kept.keys()) this.#parts.alarms.clear(alarmOf(id));
  }

  types(): readonly ResourceTypeView[] {
    return resourceTypeViews();
  }

  type(name: string): ResourceTypeView | undefined {
    const type = resourceTypeNamed(name);
    return type && typeViewOf(type);
  }

  actionsOf(type: string): readonly ActionView[] {
    return actionViews().filter(({ types }) => types.includes(type));
  }

  typeNameOf(id: string): string | undefined {
    return this.#kept.get(id)?.record.type;
  }

  async create(spec: ResourceSpec): Promise<ResourceView> {
    const named = idOfName(spec);
    const former = named === undefined ? undefined : this.#kept.get(named)?.record;
    if (former === undefined && this.#kept.size >= resourcesMax) {
      throw tooMany();
    }
    const place = former ?? { id: named ?? this.#freshId(), order: this.#order + 1 };
    const record = resourceRecordOf(spec, place, former?.config);
    return this.#keep(record);
  }

  async test(spec: ResourceSpec): Promise<void> {
    const { place, options } = this.#parts;
    const fault = await place.test(spec.type, configOf(spec), options);
    if (fault === undefined) return;
    throw new RuleFault('resource_down', `Test Creating Resource Failed: ${fault}`);
  }

  async update(id: string, change: ResourceChange): Promise<ResourceView> {
    const { record: former } = this.#found(id);
    const { config = former.config, description = former.description } = change;
    const spec = { name: former.name, type: former.type, config, description };
    return this.#keep(resourceRecordOf(spec, former, former.config));
  }

  async delete(id: string): Promise<boolean> {
    if (!this.#kept.has(id)) return false;
    const rule = this.#parts.userOf(id);
    if (rule !== undefined) {
      throw new RuleFault('in_use', `{dependency_exists,{rule,<<"${rule}">>}}`);
    }
    this.#kept.delete(id);
    this.#parts.counted(this.#kept.size);
    this.#parts.records.delete(id);
    this.#parts.alarms.clear(alarmOf(id));
    await this.#inForce();
    // One of the same name may have been made meanwhile: what waited is for that one.
    if (!this.#kept.has(id)) await this.#parts.place.forget(id);
    return true;
  }

  list(type?: string): readonly ResourceView[] {
    const all = this.#ordered();
    return all.filter(({ record }) => type === undefined || record.type === type).map(this.#view);
  }

  #ordered(): readonly Kept[] {
    return [...this.#kept.values()].toSorted((a, b) => a.record.order - b.record.order);
  }

  get(id: string): ResourceView | undefined {
    const kept = this.#kept.get(id);
    return kept && this.#view(kept);
  }

  async status(id: string): Promise<ResourceStatus> {
    this.#found(id);
    await this.look();
    return this.#statusOf(this.#found(id));
  }

  export(isWithSecrets: boolean): readonly ExportedResource[] {
    return this.#ordered().map(({ record: { order: _order, ...spec } }) => {
      return isWithSecrets ? spec : { ...spec, config: shownConfig(spec.type, spec.config) };
    });
  }

  toCome(exported: unknown): ResourcesToCome {
    const wanted = exportedResources(exported);
    const former = (id: string): ResourceRecord | undefined => this.#kept.get(id)?.record;
    const fresh = wanted.filter(({ id }) => former(id) === undefined);
    if (this.#kept.size + fresh.length > resourcesMax) throw tooMany();
    let order = this.#order;
    const records = wanted.map((one) => {
      const there = former(one.id);
      if (there !== undefined && there.type !== one.type) {
        throw new RuleFault('bad_params', `Resource ${one.id}: it is of type ${there.type} here`);
      }
      const place = there ?? { id: one.id, order: ++order };
      return named(`Resource ${one.id}`, () => resourceRecordOf(one, place, there?.config));
    });
    const types = new Map(records.map(({ id, type }) => [id, type]));
    return {
      ...{ created: fresh.length, replaced: records.length - fresh.length },
      typeNameOf: (id) => types.get(id) ?? this.typeNameOf(id),
      write: () => this.#keepAll(records),
    };
  }

  async start(id: string): Promise<void> {
    const { record, isAlive: wasAlive } = this.#found(id);
    this.#kept.set(id, { record, revision: ++this.#revision, isAlive: wasAlive });
    await this.#inForce();
    const { is_alive: isAlive } = await this.status(id);
    if (!isAlive) throw new RuleFault('start_failed', `Start Resource ${id} Failed`);
  }

  /** Asks all of them whether they are alive. */
  async look(): Promise<void> {
    if (this.#kept.size === 0) return;
    const asked = new Map([...this.#kept].map(([id, { revision }]) => [id, revision]));
    const alive = new Map(await this.#parts.place.alive().catch(this.#cannotLook));
    for (const [id, kept] of this.#kept) {
      // It was made or changed while we looked.
      if (asked.get(id) === kept.revision) this.#seen(id, kept, alive.get(id) === true);
    }
  }

  perform(job: ResourceJob): Promise<void> {
    return this.#parts.place.perform(job);
  }

  readonly #cannotLook = (error: unknown): [] => {
    this.#parts.log.warn('resources.not_seen', { error: describeError(error) });
    return [];
  };

  /** One that was never there is no news. */
  #seen(id: string, kept: Kept, isAlive: boolean): void {
    if (kept.isAlive === isAlive) return;
    kept.isAlive = isAlive;
    const { alarms, nodeName: node } = this.#parts;
    if (isAlive) alarms.clear(alarmOf(id));
    else alarms.raise(alarmOf(id), { text: 'Resource Down', node, type: kept.record.type });
  }

  async #keep(record: ResourceRecord): Promise<ResourceView> {
    await this.#keepAll([record]);
    return this.#view(this.#found(record.id));
  }

  async #keepAll(records: readonly ResourceRecord[]): Promise<void> {
    if (records.length === 0) return;
    for (const record of records) {
      this.#parts.records.put(record.id, record);
      this.#put(record, this.#kept.get(record.id)?.isAlive);
    }
    await this.#inForce();
    await this.look();
  }

  /** One whose configuration is the same goes on as it is, and so does what waits for it. */
  #put(record: ResourceRecord, isAlive = false): void {
    const former = this.#kept.get(record.id);
    const isSame = former !== undefined && isDeepStrictEqual(former.record.config, record.config);
    const revision = isSame ? former.revision : ++this.#revision;
    this.#kept.set(record.id, { record, revision, isAlive });
    this.#order = Math.max(this.#order, record.order);
    this.#parts.counted(this.#kept.size);
  }

  #found(id: string): Kept {
    const kept = this.#kept.get(id);
    if (kept === undefined) throw new RuleFault('not_found', `Resource ${id} Not Found`);
    return kept;
  }

  async #inForce(): Promise<void> {
    const { place, options, flushed } = this.#parts;
    const orders = [...this.#kept.values()].map(({ record: { id, type, config }, revision }) => {
      return { id, type, config, revision };
    });
    await Promise.all([flushed(), place.uphold(orders, options)]);
  }

  #freshId(): string {
    let id = newResourceId();
    while (this.#kept.has(id)) id = newResourceId();
    return id;
  }

  readonly #view = (kept: Kept): ResourceView => {
    const { id, name, type, config, description } = kept.record;
    const status = [this.#statusOf(kept)];
    return { id, name, type, config: shownConfig(type, config), description, status };
  };

  #statusOf({ isAlive }: Kept): ResourceStatus {
    return { node: this.#parts.nodeName, is_alive: isAlive };
  }
}

function tooMany(): RuleFault {
  return new RuleFault('too_many', `Cannot create a resource: ${resourcesMax} are the limit`);
}

function alarmOf(id: string): string {
  return `resource_down/${id}`;
}
