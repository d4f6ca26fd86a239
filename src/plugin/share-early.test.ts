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
    void host.share('late', 'second');
    gate.resolve();
    assert.deepEqual(await running, []);
    assert.deepEqual(told, ['second']);
    await host.share('late', 'third');
    assert.deepEqual(told, ['second', 'third']);
    await host.run([]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

/** Takes up what is shared when the test lets it, and has a hook from then on. */
const slowCode = `
const { gates, told } = globalThis.shareSlow;
export default {
  name: 'slow',
  description: 'Slow',
  worker: async () => ({
    default: (context) => {
      context.onShared(async (value) => {
        await gates[value];
        told.push(value);
        if (value === 'bad') throw new Error('cannot take it up');
        context.hooks.replace([{ hook: 'client.connected', call: () => {} }]);
      });
      context.defer(() => gates.end);
    },
  }),
};
`;

test('what a listener promises is waited for, by the start and by whoever shares', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'broker-plugin-'));
  try {
    writeFileSync(join(folder, 'plugin.ts'), slowCode);
    const gates = {
      first: Promise.withResolvers<void>(),
      second: Promise.withResolvers<void>(),
      end: Promise.withResolvers<void>(),
    };
    const told: string[] = [];
    const promises = Object.entries(gates).map(([name, { promise }]) => [name, promise] as const);
    Object.assign(globalThis, { shareSlow: { gates: Object.fromEntries(promises), told } });
    await using broker = await startBroker({ workers: 0 });
    const host = new WorkerHost({ broker: broker.broker, index: 0, ask: async () => undefined });
    const counters = PluginCounters.memoryFor([], 1);
    const order = {
      ...{ name: 'slow', folder, reading: 0, isVital: false, settings: {}, metrics: [], counters },
      ...{ start: 1, shared: { value: 'first' } },
    };
    const note = (what: string) => () => void told.push(what);
    const running = host.run([order]).then(note('runs'));
    gates.first.resolve();
    await running;
    assert.deepEqual(host.held()['slow']?.hooks, ['client.connected']);
    const shared = host.share('slow', 'second').then(note('shared'));
    gates.second.resolve();
    await shared;
    assert.deepEqual(told, ['first', 'runs', 'second', 'shared']);
    await host.share('slow', 'bad');
    assert.equal(new PluginCounters([], counters).failures, 1);
    assert.equal(broker.takeFaults().length, 1);
    // The former one takes its time to end: its successor is told and hooks all the same, and once.
    const again = host.run([{ ...order, start: 2, shared: undefined }]);
    while (host.held()['slow']?.hooks.length !== 0) await new Promise(setImmediate);
    told.length = 0;
    await host.share('slow', 'second');
    assert.deepEqual(told, ['second']);
    assert.deepEqual(host.held()['slow']?.hooks, ['client.connected']);
    gates.end.resolve();
    assert.deepEqual(await again, []);
    await host.run([]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
