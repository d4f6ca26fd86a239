// The push gateway of Prometheus takes what broker_statsd pushes, and shows it.

import assert from 'node:assert/strict';
import test from 'node:test';
import { startManaged } from '#test/managed';
import { Program, toolOf } from './outside-program.ts';

const { path, skip } = toolOf('prometheus-pushgateway');
const at = /address=(127\.0\.0\.1:[1-9]\d*)/;

test('a push gateway takes the figures of a node', { skip }, async () => {
  const wanted = ['--web.listen-address=127.0.0.1:0', '--persistence.file='];
  await using gateway = new Program(path, wanted);
  const listening = await gateway.errorLines.take('its address', (line) => at.test(line));
  const address = at.exec(listening)?.[1] ?? '';
  await using _managed = await startManaged({
    workers: 2,
    settings: {
      'node.name': 'broker@10.0.0.1',
      'plugins.loaded': 'broker_management,broker_statsd',
      'statsd.push.gateway.server': address,
      'statsd.interval': '100ms',
    },
  });
  const signal = AbortSignal.timeout(15_000);
  const labels = '{instance="broker~10.0.0.1",job="broker"}';
  for (;;) {
    const text = await (await fetch(`http://${address}/metrics`, { signal })).text();
    if (!text.includes('push_failure_time_seconds{')) continue;
    assert.match(text, /^push_failure_time_seconds\{.*\} 0$/m);
    for (const line of [
      `broker_packets_connect${labels} 0`,
      `broker_connections_count${labels} 0`,
    ]) {
      assert.ok(text.split('\n').includes(line), line);
    }
    assert.match(text, /^broker_packets_received_total\{.*type="connect"\} 0$/m);
    return;
  }
});
