// The door of plugins: everything that a plugin may know of the broker, and the only file that one may
// import, together with sdk-operations.ts for those that have REST operations or commands. docs/plugins.md
// explains it. Law: light, because every worker loads it.

import type { PluginDefinition } from '#plugin/contract';
import { Later } from '#plugin/later';
import type { WorkerContext, WorkerPart } from '#plugin/worker-context';
import type { ControlContext } from '#host/control-context';
import type * as Http from './sdk-http.ts';
import type * as Passwords from './sdk-passwords.ts';
import type * as RuleWorker from './sdk-rule-worker.ts';
import type * as Rules from './sdk-rules.ts';

export { type Key, type KeysOf, key, optionalKey } from '#config/key';
export {
  byteSize,
  decimalAbove,
  durationMs,
  durationSeconds,
  existingFile,
  flag,
  int,
  matching,
  oneOf,
  text,
  truth,
  type ValueType,
} from '#config/value-type';
export type { PluginLine, PluginValues } from '#config/plugin-values';
export { headerKey, headerValue, readHeaders } from '#config/header-keys';
export type {
  AclAnswer,
  AuthVerdict,
  ClientGrant,
  ClientInfo,
  Credentials,
  HookName,
  HookTable,
  MessageChange,
  MessageRefusal,
  MessageView,
} from '#hooks/table';
export type { Properties, QoS } from '#wire/packet';
export { Reason } from '#wire/reason-codes';
export { filterFault, parseFilter, topicNameFault } from '#topics/topic';
export { fillLevels } from '#topics/client-levels';
export { matches } from '#topics/match';
export type { Clock } from '#base/clock';
export { describeError } from '#base/errors';
export type { Gathered } from '#base/gather';
export {
  type CredentialKeys,
  credentialKeys,
  type CredentialSettings,
  readCredentials,
} from '#access/credential-keys';
export type { CredentialTable } from '#access/credential-table';
export type { StoredPassword } from '#access/password-hash';
export type { StoredScram } from '#access/stored-scram';
export { FileWatch } from '#net/file-watch';
export type { Logger } from '#base/log';
export type { RecordStore } from '#core/store-port';
export { RuleFault } from '#rules/rule-fault';
export { OperatingError } from '#admin/failures';
export type { RulesOrder } from '#rules/rule-order';
export type * from '#rules/rule-service';
export type { HttpSender } from '#rules/resources/http-sender';
export type { ResourceJob } from '#rules/resources/job';
export type { ResourcePlace } from '#rules/resources/resource-engine';
export type * from '#rules/resources/resource-service';
export type { PreviewedEvent, PreviewService, RecordingView } from '#rules/preview-service';
export type { PreviewOrder } from '#rules/preview-run';
export type { CheckPart, PluginConfig, PluginDefinition, PluginType } from '#plugin/contract';
export type { Answers, PluginMessage, WorkerContext, WorkerPart } from '#plugin/worker-context';
export { Later };
export type { ControlContext, Figures, PluginsControl } from '#host/control-context';

/** Answers what operations work with, or `new Later(…)` where that is to be made when they are. */
export type ControlPart<S = undefined, T = void> = (
  context: ControlContext<S>,
) => T | Later<T> | Promise<T | Later<T>>;

/** What a plugin is, with types: `S` its settings, `T` what its control part hands to its operations. */
export interface Plugin<S, T>
  extends Omit<PluginDefinition<S>, 'worker' | 'control' | 'operations'> {
  readonly worker?: () => Promise<{ readonly default: WorkerPart<S> }>;
  readonly control?: () => Promise<{ readonly default: ControlPart<S, T> }>;
  readonly operations?: () => Promise<{ readonly default: (service: T) => readonly object[] }>;
}

export function definePlugin<S = undefined, T = void>(plugin: Plugin<S, T>): PluginDefinition {
  // Whoever runs it has made sure that its parts get what they are made for.
  return plugin as unknown as PluginDefinition;
}

/** A worker part with its types, for files of their own. */
export function workerPart<S = undefined>(
  part: (context: WorkerContext<S>) => void | Promise<void>,
): WorkerPart<S> {
  return part;
}

export function controlPart<S = undefined, T = void>(part: ControlPart<S, T>): ControlPart<S, T> {
  return part;
}

/** The rule engine, for the control part of the plugin that runs it. */
export function loadRules(): Promise<typeof Rules> {
  return import('./sdk-rules.ts');
}

/** And for its worker part. */
export function loadRuleWorker(): Promise<typeof RuleWorker> {
  return import('./sdk-rule-worker.ts');
}

/** Requests to a web server, for plugins that tell one. */
export function loadHttp(): Promise<typeof Http> {
  return import('./sdk-http.ts');
}

/** Passwords that the broker itself keeps, and SCRAM: for the parts of a plugin that need them. */
export function loadPasswords(): Promise<typeof Passwords> {
  return import('./sdk-passwords.ts');
}
