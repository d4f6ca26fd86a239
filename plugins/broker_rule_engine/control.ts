// Keeps the rules and tells every worker; see src/rules/rule-engine.ts.

import { join } from 'node:path';
import {
  type ControlContext,
  type ControlPart,
  type InspectSeen,
  Later,
  loadRules,
  type PreviewService,
  type ResourceJob,
  type ResourcePlace,
  type ResourceService,
  type RuleService,
} from '#sdk';
import type { RuleEngineSettings } from './config.ts';

/** What operations work with. */
export interface RuleEngineService {
  readonly rules: RuleService;
  readonly previews: PreviewService;
  readonly resources: ResourceService;
}

/** Workers that there can be. */
const threads = 256;

/** Without anything to do from the start on, the engine is loaded when management is served. */
const part: ControlPart<RuleEngineSettings, RuleEngineService> = async (context) => {
  let engine: Promise<RuleEngineService> | undefined;
  const begun = (): Promise<RuleEngineService> => (engine ??= begin(context));
  if (hasWork(context)) await begun();
  return new Later(begun);
};

type Context = ControlContext<RuleEngineSettings>;

function hasWork(context: Context): boolean {
  const isKept = (kind: string): boolean => {
    const [first] = context.records(kind).entries();
    return first !== undefined;
  };
  return isKept('rules') || isKept('resources') || context.settings.previewFilters.length > 0;
}

async function begin(context: Context): Promise<RuleEngineService> {
  const { Previews, ResourceEngine, RuleEngine, aliveEveryMs, sampleMs } = await loadRules();
  const resources = new ResourceEngine({
    records: context.records('resources'),
    flushed: () => context.flushed(),
    place: resourcePlace(context.integration),
    options: {
      isLinkLocalDenied: context.settings.isLinkLocalDenied,
      bufferDir: join(context.dataDir, 'broker_rule_engine', 'buffers'),
    },
    nodeName: context.nodeName,
    log: context.log,
    alarms: context.alarms,
    userOf: (id) => engine.userOf(id),
    counted: (resources) => context.gauge('resources', resources),
  });
  const engine = new RuleEngine({
    typeOfResource: (id) => resources.typeNameOf(id),
    records: context.records('rules'),
    flushed: () => context.flushed(),
    share: (order) => context.share(order),
    nodeName: context.nodeName,
    nowMs: () => context.clock.nowMs(),
    log: context.log,
    threads,
    counted: (rules, actions) => {
      context.gauge('rules', rules);
      context.gauge('actions', actions);
    },
  });
  const previews = new Previews(
    {
      clock: context.clock,
      askWorkers: (question, ...args) => context.askWorkers(question, ...args),
      share: (recordings) => engine.record(recordings),
    },
    context.settings.previewFilters,
  );
  await engine.record(previews.orders);
  await resources.begin();
  context.defer(() => resources.end());
  context.every(aliveEveryMs, () => resources.look());
  context.every(sampleMs, () => engine.sample());
  context.answers({
    inspected: (seen: InspectSeen) => engine.inspected(seen),
    perform: (job: ResourceJob) => resources.perform(job),
    previewFull: (id: number) => previews.full(id),
  });
  return { rules: engine, previews, resources };
}

/** A look or a test takes as long as its connections may. */
const placeMsMax = 60_000;

/** Resources run in the integration thread. */
function resourcePlace(integration: ControlContext['integration']): ResourcePlace {
  return {
    uphold: (orders, options) => integration.uphold(orders, options),
    forget: (id) => integration.call('forgetResource', [id], placeMsMax),
    alive: () => integration.call('aliveResources', [], placeMsMax),
    test: (...asked) => integration.call('testResource', asked, placeMsMax),
    perform: (job) => integration.call('performJob', [job], Number.POSITIVE_INFINITY),
  };
}

export default part;
