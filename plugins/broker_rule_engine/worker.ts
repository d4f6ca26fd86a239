// Runs the rules in one worker; see src/rules/rule-set.ts.

import {
  type InspectSight,
  loadRules,
  type PreviewOrder,
  type RulesOrder,
  type WorkerPart,
} from '#sdk';
import type { RuleEngineSettings } from './config.ts';

/** Sights on their way to the control thread; more are not shown. */
const sightsMax = 64;

const part: WorkerPart<RuleEngineSettings> = async (context) => {
  const { PreviewWorker, RuleSet } = await loadRules();
  let sights = 0;
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
    onSight: (sight: InspectSight) => {
      if (sights >= sightsMax) return;
      sights++;
      void context
        .ask('inspected', sight)
        .catch(() => undefined)
        .finally(() => sights--);
    },
  });
  const previews = new PreviewWorker({
    nowMs: () => context.clock.nowMs(),
    after: (ms, call) => context.after(ms, call),
    listen: (listener) => set.listen(listener),
    full: (id) => void context.ask('previewFull', id).catch(() => undefined),
  });
  context.answers({
    previewRecorded: (order: PreviewOrder) => previews.ofRecorded(order),
    previewStart: (id: number, order: PreviewOrder, ms: number) => previews.start(id, order, ms),
    previewEnd: (id: number) => previews.end(id),
    previewCounts: () => previews.recorded(),
  });
  context.onShared((shared) => {
    const order = shared as RulesOrder;
    set.apply(order);
    previews.record(order.recordings);
  });
};

export default part;
