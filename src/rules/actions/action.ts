// What an action is: a row of a table, with words for people, parameters, and a function that makes it run
// for one rule. Laws: making one does nothing yet; running one never makes the publisher wait: what takes
// time is a promise.

import type { Logger } from '#base/log';
import type { QoS } from '#wire/packet';
import type { EventRecord } from '../event-record.ts';
import type { Value } from '../eval/value.ts';
import type { ResourceJob } from '../resources/job.ts';
import type { InspectSeen, Words } from '../rule-service.ts';
import type { Params, ParamSpecs } from './param-spec.ts';
import type { SightLimit } from './sight-limit.ts';

export interface ActionDefinition {
  readonly name: string;
  /** `built_in:republish_action`, by which the older form knows it. */
  readonly olderName: string;
  readonly app: string;
  /** An event, a group of them or `$any`. */
  readonly for: string;
  readonly types: readonly string[];
  readonly params: ParamSpecs;
  readonly title: Words;
  readonly description: Words;
  readonly create: (params: Params, env: ActionEnv) => ActionRun;
}

/** Throws, or rejects, where it fails. */
export type ActionRun = (selected: Value, event: ActionEvent) => void | Promise<unknown>;

/** What an action is made for, and what it can do. */
export interface ActionEnv {
  readonly ruleId: string;
  readonly actionId: string;
  readonly log: Logger;
  readonly nowMs: () => number;
  /** Resolves when it is safe, rejects where it was refused. */
  readonly publish: (message: RuleMessage) => Promise<unknown>;
  /** Has a resource do it, in the integration thread; rejects when it has failed for good. */
  readonly perform: (job: ResourceJob) => Promise<unknown>;
  /** Undefined while nobody watches. */
  readonly onSight: () => ((seen: InspectSeen) => void) | undefined;
  /** Of the rule, in this worker. */
  readonly sights: Pick<SightLimit, 'admits'>;
}

export interface ActionEvent extends EventRecord {
  /** How many rules have published the message, one after the other. */
  readonly hops: number;
}

export interface RuleMessage {
  readonly topic: string;
  readonly payload: string | Buffer;
  readonly qos: QoS;
  readonly retain: boolean;
  readonly clientId: string;
  readonly hops: number;
}

export function defineAction(definition: ActionDefinition): ActionDefinition {
  return definition;
}
