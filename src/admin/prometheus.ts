// What the node tells Prometheus: its counters and gauges by the table of names, its threads, listeners,
// alarms, store and process. Law: a counter never goes down while the node runs. What cannot be told in
// full, because a worker did not answer in time, is left out rather than told too low.

import { readdir, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Gathered } from '#base/gather';
import type { ListenerReport } from '#net/listener';
import type { ThreadStatus } from '#node/thread-status';
import type { AdminParts } from './parts.ts';
import type { PluginsFace } from './plugins-face.ts';
import { counterRows, gaugeRows, labelsOf } from './prometheus-names.ts';
import type { Family, Labels, Sample } from './prometheus-text.ts';

export type PrometheusParts = Pick<
  AdminParts,
  'node' | 'settings' | 'clock' | 'version' | 'startedAtMs' | 'upMs' | 'httpListeners' | 'plugins'
>;

/** Scrapes are given up after ten seconds as a rule. */
const answerMsMax = 5000;

export async function prometheusFamilies(parts: PrometheusParts): Promise<Family[]> {
  const { node, settings, version, startedAtMs, upMs } = parts;
  const [threads, listeners, store] = await Promise.all([
    node.threads(answerMsMax),
    node.workers.everywhere('listeners', [], answerMsMax),
    storeFigures(join(settings.node.dataDir, 'store')),
  ]);
  const labels = { node: settings.node.name, version, runtime: process.version };
  const upSeconds = upMs() / 1000;
  return [
    gauge('broker_info', 'The node and its version.', [{ labels, value: 1 }]),
    gauge('broker_start_time_seconds', 'When it started, in Unix time.', startedAtMs / 1000),
    gauge('broker_uptime_seconds', 'How long it has been running.', upSeconds),
    ...counterFamilies(node.metrics()),
    ...pluginFamilies(parts.plugins),
    ...gaugeFamilies(node.stats()),
    ...threadFamilies(threads),
    ...listenerFamilies(listeners, parts.httpListeners()),
    ...alarmFamilies(node.alarms.present().map(({ name }) => name)),
    ...store,
    ...processFamilies(),
  ];
}

/** `samples`: several, or the value of the only one. */
function gauge(name: string, help: string, samples: readonly Sample[] | number): Family {
  return { name, help, type: 'gauge', samples: samplesOf(samples) };
}

function counter(name: string, help: string, samples: readonly Sample[] | number): Family {
  return { name, help, type: 'counter', samples: samplesOf(samples) };
}

function samplesOf(samples: readonly Sample[] | number): readonly Sample[] {
  return typeof samples === 'number' ? [{ value: samples }] : samples;
}

type Figures = Readonly<Record<string, number>>;

function counterFamilies(metrics: Figures): Family[] {
  return counterRows.map(({ name, help, label, keys }) => {
    const samples = Object.entries(keys).map(([value, key]) => ({
      labels: labelsOf(label, value),
      value: metrics[key] ?? 0,
    }));
    return counter(name, help, samples);
  });
}

function pluginFamilies(plugins: PluginsFace): Family[] {
  const failures = Object.entries(plugins.failures()).map(([plugin, value]) => {
    return { labels: { plugin }, value };
  });
  const help = 'What each plugin has thrown.';
  return [
    counter('broker_plugin_failures_total', help, failures),
    ...plugins.metrics().map(({ name, help: words, value }) => {
      const family = `broker_${name.replaceAll(/[^a-z0-9]+/g, '_')}_total`;
      return counter(family, words, value);
    }),
    ...plugins.gauges().flatMap(({ name, help: words, count, max }) => {
      const family = `broker_${name.replaceAll(/[^a-z0-9]+/g, '_')}`;
      return gaugeAndMax(family, words, count, max);
    }),
  ];
}

function gaugeFamilies(stats: Figures): Family[] {
  return gaugeRows.flatMap(({ name, key, help }) =>
    gaugeAndMax(name, `${help}.`, stats[`${key}/count`] ?? 0, stats[`${key}/max`] ?? 0),
  );
}

function gaugeAndMax(name: string, help: string, count: number, max: number): Family[] {
  const most = `${help.replace(/\.$/, '')}, the most since the start.`;
  return [gauge(name, help, count), gauge(`${name}_max`, most, max)];
}

function threadFamilies({ answers, missing }: Gathered<string, ThreadStatus>): Family[] {
  const each = (value: (status: ThreadStatus) => number): Sample[] =>
    answers.map(([thread, status]) => ({ labels: { thread }, value: value(status) }));
  const up = [...each(() => 1), ...missing.map(([thread]) => ({ labels: { thread }, value: 0 }))];
  return [
    gauge('broker_thread_up', 'Whether a thread of the node answers.', up),
    counter(
      'broker_thread_busy_seconds_total',
      'Seconds in which the event loop of a thread was busy: its rate is the utilisation, 0 to 1.',
      each(({ loopBusyMs }) => loopBusyMs / 1000),
    ),
    gauge(
      'broker_thread_utilisation_ratio',
      'The share of its time in which the event loop of a thread was busy, since it began.',
      each(({ loopShare }) => loopShare),
    ),
    gauge(
      'broker_thread_heap_used_bytes',
      'Heap of a thread in use.',
      each(({ heapUsedBytes }) => heapUsedBytes),
    ),
    gauge(
      'broker_thread_heap_limit_bytes',
      'Heap that a thread may use.',
      each(({ heapLimitBytes }) => heapLimitBytes),
    ),
    gauge(
      'broker_thread_uptime_seconds',
      'How long a thread has been running.',
      each(({ upMs }) => upMs / 1000),
    ),
  ];
}

/** A listener of all workers that have it. */
interface WholeListener {
  readonly labels: Labels;
  readonly connectionsMax: number;
  readonly ended: Map<string, number>;
  connections: number;
}

function listenerFamilies(
  { answers, missing }: Gathered<string, readonly ListenerReport[]>,
  ours: readonly ListenerReport[],
): Family[] {
  const ofWorkers = missing.length === 0 ? answers.flatMap(([, reports]) => reports) : [];
  const listeners = wholeListeners([...ofWorkers, ...ours]);
  const ended = listeners.flatMap((listener) =>
    [...listener.ended].map(([reason, value]) => ({
      labels: { ...listener.labels, reason },
      value,
    })),
  );
  return [
    gauge(
      'broker_listener_connections',
      'Connections of a listener.',
      listeners.map(({ labels, connections: value }) => ({ labels, value })),
    ),
    gauge(
      'broker_listener_connections_limit',
      'Connections that a listener takes at most.',
      listeners.map(({ labels, connectionsMax: value }) => ({ labels, value })),
    ),
    counter(
      'broker_listener_shutdowns_total',
      'Connections of a listener that ended or were refused, by reason.',
      ended,
    ),
  ];
}

function wholeListeners(reports: readonly ListenerReport[]): WholeListener[] {
  const byPlace = new Map<string, WholeListener>();
  for (const { protocol, listenOn, currentConns, maxConns, shutdownCount } of reports) {
    const place = `${protocol} ${listenOn}`;
    const whole = byPlace.get(place) ?? {
      labels: { protocol, listen_on: listenOn },
      connections: 0,
      connectionsMax: maxConns,
      ended: new Map<string, number>(),
    };
    byPlace.set(place, whole);
    whole.connections += currentConns;
    for (const [reason, count] of shutdownCount) {
      whole.ended.set(reason, (whole.ended.get(reason) ?? 0) + count);
    }
  }
  return [...byPlace.values()];
}

function alarmFamilies(names: readonly string[]): Family[] {
  const raised = names.map((alarm) => ({ labels: { alarm }, value: 1 }));
  return [
    gauge('broker_alarms', 'Alarms that are raised now.', names.length),
    gauge('broker_alarm_raised', '1 for each alarm that is raised now.', raised),
  ];
}

async function storeFigures(dir: string): Promise<Family[]> {
  try {
    const files = await readdir(dir);
    const stats = await Promise.all(files.map((file) => stat(join(dir, file))));
    const { bavail, bsize } = await statfs(dir);
    const bytes = stats.reduce((sum, { size }) => sum + size, 0);
    return [
      gauge('broker_store_bytes', 'Size of the files of the store.', bytes),
      gauge('broker_store_disk_free_bytes', 'Room on the disk of the store.', bavail * bsize),
    ];
  } catch {
    // Files come and go, and a broken disk is an alarm already: the rest is worth telling.
    return [];
  }
}

/** The names that other programs use, too. */
function processFamilies(): Family[] {
  const { user, system } = process.cpuUsage();
  const cpuSeconds = (user + system) / 1e6;
  return [
    counter('process_cpu_seconds_total', 'CPU time of the process, in seconds.', cpuSeconds),
    gauge('process_resident_memory_bytes', 'Memory of the process.', process.memoryUsage.rss()),
  ];
}
