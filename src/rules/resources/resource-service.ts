// What management can ask about resources. Laws: what is answered is plain data, without secrets; what cannot
// be done throws a RuleFault, and changes nothing.

import type { ActionView, ParamView, ResourcesToCome, Words } from '../rule-service.ts';

export interface ResourceService {
  /** By English title. */
  types(): readonly ResourceTypeView[];
  type(name: string): ResourceTypeView | undefined;
  /** That work with resources of a type. */
  actionsOf(type: string): readonly ActionView[];
  /** Kept and being started when it answers, whether or not it can be reached. */
  create(spec: ResourceSpec): Promise<ResourceView>;
  /** Starts one with this configuration and ends it again. Throws `resource_down` where it is not alive. */
  test(spec: ResourceSpec): Promise<void>;
  /** What is not named stays. Throws `not_found`. */
  update(id: string, change: ResourceChange): Promise<ResourceView>;
  /** False: there was none. Throws `in_use` where a rule needs it. */
  delete(id: string): Promise<boolean>;
  /** In the order in which they were created. */
  list(type?: string): readonly ResourceView[];
  get(id: string): ResourceView | undefined;
  /** Asks it now. Throws `not_found`. */
  status(id: string): Promise<ResourceStatus>;
  /** All of them. Without secrets there is a mark in their place. */
  export(isWithSecrets: boolean): readonly ExportedResource[];
  /**
   * What an export has, checked and not written. Throws where one cannot be used, or where a mark stands for
   * a secret that is not here.
   */
  toCome(exported: unknown): ResourcesToCome;
  /** Anew. Throws `not_found`, and `start_failed` where it does not come alive. */
  start(id: string): Promise<void>;
}

export interface ResourceSpec {
  /** The older form: the id is `<type>:<name>` then, and one that is there is replaced. */
  readonly name?: string | undefined;
  readonly type: string;
  readonly config?: Readonly<Record<string, unknown>> | undefined;
  readonly description?: string | undefined;
}

export type ExportedResource = Required<
  Pick<ResourceView, 'id' | 'type' | 'config' | 'description'>
> &
  Pick<ResourceSpec, 'name'>;

export type ResourceChange = Partial<Pick<ResourceSpec, 'config' | 'description'>>;

export interface ResourceView {
  readonly id: string;
  readonly name: string | undefined;
  readonly type: string;
  /** With defaults filled in, and `******` in place of secrets. */
  readonly config: Readonly<Record<string, unknown>>;
  readonly description: string;
  /** As of the last time that it was asked. */
  readonly status: readonly ResourceStatus[];
}

export interface ResourceStatus {
  readonly node: string;
  readonly is_alive: boolean;
}

export interface ResourceTypeView {
  readonly name: string;
  readonly provider: string;
  readonly params: Readonly<Record<string, ParamView>>;
  readonly title: Words;
  readonly description: Words;
}
