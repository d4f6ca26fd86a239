import assert from 'node:assert/strict';
import test from 'node:test';
import { VirtualClock } from '#base/clock';
import { loadSettings } from '#config/load';
import type { ListenerReport } from '#net/listener';
import { type PrometheusParts, prometheusFamilies } from './prometheus.ts';
import { readPrometheus } from './prometheus-fixture.ts';
import { prometheusText } from './prometheus-text.ts';

const listener: ListenerReport = {
  protocol: 'mqtt:tcp',
  listenOn: '1883',
  acceptors: 8,
  currentConns: 2,
  maxConns: 1000,
  shutdownCount: new Map([['kicked', 3]]),
};
const door = { ...listener, protocol: 'http:management', listenOn: '8080', currentConns: 1 };
const status = { heapUsedBytes: 1, heapLimitBytes: 2, loopShare: 0.5, loopBusyMs: 10, upMs: 20 };

interface Trouble {
  readonly missing?: readonly string[];
  readonly dataDir?: string;
}

/** A node of two workers, of which some do not answer. */
async function scrape({ missing = [], dataDir = 'nowhere' }: Trouble): Promise<string> {
  const workers = ['worker 0', 'worker 1'];
  const gathered = <T>(answer: T) => ({
    answers: workers.filter((name) => !missing.includes(name)).map((name) => [name, answer]),
    missing: missing.map((name) => [name, 'no answer within 5000 ms']),
  });
  const settings = loadSettings({ sets: [`node.data_dir=${dataDir}`] });
  const parts = {
    settings,
    clock: new VirtualClock(61_000),
    version: '0.1.0',
    startedAtMs: 1000,
    upMs: () => 60_000,
    httpListeners: () => [door],
    plugins: {
      failures: () => ({ broker_recon: 2 }),
      gauges: () => [
        { plugin: 'broker_rule_engine', name: 'rules', help: 'Rules.', count: 1, max: 2 },
      ],
      metrics: () => [{ plugin: 'x', name: 'auth.http.success', help: 'Let in.', value: 3 }],
    },
    node: {
      metrics: () => ({ 'bytes/received': 7 }),
      stats: () => ({ 'connections/count': 4, 'connections/max': 5 }),
      alarms: { present: () => [] },
      threads: async () => gathered(status),
      workers: { everywhere: async () => gathered([listener]) },
    },
  };
  const text = prometheusText(await prometheusFamilies(parts as unknown as PrometheusParts));
  readPrometheus(text);
  return text;
}

test('plugins are told with what they have counted and what they have thrown', async () => {
  const text = await scrape({});
  assert.ok(text.includes('\nbroker_plugin_failures_total{plugin="broker_recon"} 2\n'));
  assert.ok(text.includes('# HELP broker_auth_http_success_total Let in.\n'));
  assert.ok(text.includes('\nbroker_auth_http_success_total 3\n'));
});

test('listeners are told as the sum of what the workers have of them', async () => {
  const text = await scrape({});
  const tcp = '{protocol="mqtt:tcp",listen_on="1883"';
  assert.ok(text.includes(`\nbroker_listener_connections${tcp}} 4\n`));
  assert.ok(text.includes(`\nbroker_listener_connections_limit${tcp}} 1000\n`));
  assert.ok(text.includes(`\nbroker_listener_shutdowns_total${tcp},reason="kicked"} 6\n`));
  assert.ok(text.includes('{protocol="http:management",listen_on="8080"} 1\n'));
  assert.ok(text.includes('\nbroker_uptime_seconds 60\n'));
});

test('counters of listeners are left out rather than told too low when a worker is late', async () => {
  const text = await scrape({ missing: ['worker 1'] });
  assert.ok(text.includes('\nbroker_thread_up{thread="worker 0"} 1\n'));
  assert.ok(text.includes('\nbroker_thread_up{thread="worker 1"} 0\n'));
  assert.ok(!text.includes('mqtt:tcp'));
  assert.ok(text.includes('\nbroker_bytes_received_total 7\n'));
});

test('a store that cannot be looked at does not keep the rest from being told', async () => {
  assert.ok(!(await scrape({})).includes('broker_store_bytes'));
});
