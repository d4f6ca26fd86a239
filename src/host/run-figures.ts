// What plugins that run have counted, for management: plain rows.

import type { PluginGauge, PluginMetric } from '#admin/plugins-face';
import type { PluginRun } from './plugin-run.ts';

export function metricsOf(runs: Iterable<PluginRun>): PluginMetric[] {
  return [...runs].flatMap(({ name: plugin, definition, counters }) =>
    Object.entries(counters.snapshot()).map(([name, value]) => {
      return { plugin, name, value, help: definition.metrics?.[name] ?? '' };
    }),
  );
}

export function gaugesOf(runs: Iterable<PluginRun>): PluginGauge[] {
  return [...runs].flatMap(({ name: plugin, definition, gauges }) =>
    gauges.entries().map(([name, counts]) => {
      return { plugin, name, ...counts, help: definition.gauges?.[name] ?? '' };
    }),
  );
}
