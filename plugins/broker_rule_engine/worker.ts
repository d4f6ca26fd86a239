// Runs the rules in one worker; see src/rules/rule-set.ts. Law: what that takes is loaded with the first rule,
// or the first that is to be tried out, and a worker without any is spared it.

import {
  loadRuleWorker,
  type PreviewOrder,
  type RulesOrder,
  type WorkerContext,
  type WorkerPart,
} from '#sdk';
import type { RuleEngineSettings } from './config.ts';
import { SightLane } from './sight-lane.ts';

type Context = WorkerContext<RuleEngineSettings>;
type Loaded = Awaited<ReturnType<typeof load>>;

const part: WorkerPart<RuleEngineSettings> = (context) => {
  let loading: Promise<Loaded> | undefined;
  const loaded = (): Promise<Loaded> => (loading ??= load(context));
  context.answers({
    previewRecorded: async (order: PreviewOrder) => (await loaded()).previews.ofRecorded(order),
    previewStart: async (id: number, order: PreviewOrder, ms: number) =>
      (await loaded()).previews.start(id, order, ms),
    previewEnd: async (id: number) => (await loaded()).previews.end(id),
    previewCounts: async () => (await loaded()).previews.recorded(),
  });
  context.onShared(async (shared) => {
    const order = shared as RulesOrder;
    if (loading === undefined && order.rules.length + order.recordings.length === 0) return;
    const { set, previews } = await loaded();
    // Unloaded meanwhile.
    if (context.signal.aborted) return;
    set.apply(order);
    previews.record(order.recordings);
  });
};

async function load(context: Context) {
  const { PreviewWorker, RuleSet } = await loadRuleWorker();
  const sights = new SightLane((seen) => context.ask('inspected', seen));
  const set = new RuleSet({
    nodeName: context.nodeName,
    thread: context.worker,
    log: context.log,
    nowMs: () => context.clock.nowMs(),
    isSysIgnored: context.settings.isSysIgnored,
    watch: (filter, call) => context.watch(filter, call),
    setHooks: (wishes) => context.hooks.replace(wishes),
    publish: (message) => context.publish(message),
    perform: (job) => context.askLong('perform', job),
    count: (metric) => context.count(metric),
    onSight: (seen) => sights.push(seen),
    after: (ms, call) => context.after(ms, call),
  });
  const previews = new PreviewWorker({
    nowMs: () => context.clock.nowMs(),
    after: (ms, call) => context.after(ms, call),
    listen: (listener) => set.listen(listener),
    full: (id) => void context.ask('previewFull', id).catch(() => undefined),
  });
  return { set, previews };
}

export default part;
