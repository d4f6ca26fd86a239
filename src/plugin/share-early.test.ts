import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { PluginCounters } from './counters.ts';
import { WorkerHost } from './worker-host.ts';
import { startBroker } from '#test/broker';

/** Waits for the test, then tells it what it was told. */
const code = `
const { gate, told, started } = globalThis.shareEarly;
export default {
  name: 'late',
  description: 'Late',
  worker: async () => ({
    default: async (context) => {
      started();
      await gate;
      context.onShared((value) => told.push(value));
    },
  }),
};
`;

test('what is shared while a worker part starts is not lost', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'broker-plugin-'));
  try {
    const gate = Promise.withResolvers<void>();
    const started = Promise.withResolvers<void>();
    const told: unknown[] = [];
    Object.assign(globalThis, {
      shareEarly: { gate: gate.promise, told, started: started.resolve },
    });
    writeFileSync(join(folder, 'plugin.ts'), code);
    await using broker = await startBroker({ workers: 0 });
    const host = new WorkerHost({ broker: broker.broker, index: 0, ask: async () => undefined });
    const counters = PluginCounters.memoryFor([], 1);
    const order = {
      name: 'late',
      folder,
      reading: 0,
      isVital: false,
      start: 1,
      settings: {},
      metrics: [],
      counters,
    };
    const running = host.run([{ ...order, shared: { value: 'first' } }]);
    await started.promise;
    host.share('late', 'second');
    gate.resolve();
    assert.deepEqual(await running, []);
    assert.deepEqual(told, ['second']);
    host.share('late', 'third');
    assert.deepEqual(told, ['second', 'third']);
    await host.run([]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
