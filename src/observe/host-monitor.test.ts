import assert from 'node:assert/strict';
import test from 'node:test';
import { VirtualClock } from '#base/clock';
import type { MonitorSettings } from '#config/settings';
import { type CpuTimes, HostMonitor, type MemoryUse, type Use } from './host-monitor.ts';

const limits: MonitorSettings = {
  longGcMs: 0,
  longScheduleMs: 0,
  largeHeap: { bytes: 0 },
  busyPort: false,
  busyDistPort: false,
  cpuCheckIntervalMs: 60_000,
  cpuHighWatermark: 0.8,
  cpuLowWatermark: 0.6,
  memCheckIntervalMs: 60_000,
  sysmemHighWatermark: 0.7,
  procmemHighWatermark: 0.5,
  diskHighWatermark: 0.9,
  vmCheckIntervalMs: 30_000,
  processHighWatermark: 0.8,
  processLowWatermark: 0.6,
};

/** A machine that a test sets as it likes. */
class Bench implements Disposable {
  readonly clock = new VirtualClock();
  readonly told: string[] = [];
  readonly faults: unknown[] = [];
  cpu: CpuTimes | undefined = { busyMs: 0, totalMs: 0 };
  memory: MemoryUse | undefined = { used: 0, max: 1000, ownBytes: 0 };
  disk: Use | undefined = { used: 0, max: 1000 };
  files: Use | undefined = { used: 0, max: 1000 };
  readonly #raised = new Set<string>();
  readonly #monitor: HostMonitor;

  constructor() {
    this.#monitor = new HostMonitor({
      clock: this.clock,
      limits,
      figures: {
        cpu: () => this.cpu,
        memory: async () => this.memory,
        disk: async () => this.disk,
        files: async () => this.files,
      },
      raise: (id, text) => {
        this.#raised.add(id);
        this.told.push(`${id} ${text}`);
      },
      clear: (id) => {
        if (this.#raised.delete(id)) this.told.push(`${id} cleared`);
      },
      onFault: (error) => void this.faults.push(error),
    });
  }

  /** Over an interval of CPU checks; everything else is checked too. */
  async spend(busyShare: number): Promise<void> {
    const { busyMs, totalMs } = this.cpu as CpuTimes;
    this.cpu = { busyMs: busyMs + busyShare * 1000, totalMs: totalMs + 1000 };
    await this.check();
  }

  async check(): Promise<void> {
    this.clock.advance(60_000);
    // A check that read a file has its answer by now, and has set the next timer.
    await new Promise((resolve) => setImmediate(resolve));
  }

  [Symbol.dispose](): void {
    this.#monitor[Symbol.dispose]();
    assert.equal(this.clock.timerCount, 0, 'timers left behind');
  }
}

test('a busy CPU raises its alarm, renews it at each check and clears it below the lower mark', async () => {
  using bench = new Bench();
  await bench.spend(0.79);
  assert.deepEqual(bench.told, []);
  await bench.spend(0.8);
  await bench.spend(0.9);
  await bench.spend(0.7);
  assert.deepEqual(bench.told, ['cpu_high_watermark 80', 'cpu_high_watermark 90']);
  await bench.spend(0.5);
  assert.deepEqual(bench.told.slice(2), ['cpu_high_watermark cleared']);
});

test('memory of the machine and of the process have alarms of their own', async () => {
  using bench = new Bench();
  bench.memory = { used: 700, max: 1000, ownBytes: 400 };
  await bench.check();
  assert.deepEqual(bench.told, ['system_memory_high_watermark 70']);
  bench.memory = { used: 600, max: 1000, ownBytes: 500 };
  await bench.check();
  assert.deepEqual(bench.told.slice(1), [
    'system_memory_high_watermark cleared',
    'process_memory_high_watermark 50',
  ]);
});

test('a disk that is almost full and files that run out have alarms', async () => {
  using bench = new Bench();
  bench.disk = { used: 950, max: 1000 };
  bench.files = { used: 800, max: 1000 };
  await bench.check();
  assert.deepEqual([...new Set(bench.told)].toSorted(), [
    'disk_almost_full 95',
    'too_many_processes 800',
  ]);
  bench.told.length = 0;
  bench.disk = { used: 100, max: 1000 };
  bench.files = { used: 700, max: 1000 };
  await bench.check();
  assert.deepEqual(bench.told, ['disk_almost_full cleared']);
  bench.files = { used: 599, max: 1000 };
  await bench.check();
  assert.deepEqual(bench.told.slice(1), ['too_many_processes cleared']);
});

test('a figure that cannot be had changes nothing, and a check that fails goes on later', async () => {
  using bench = new Bench();
  bench.memory = { used: 999, max: 1000, ownBytes: 0 };
  await bench.check();
  bench.memory = undefined;
  bench.cpu = undefined;
  bench.disk = undefined;
  bench.files = undefined;
  await bench.check();
  assert.deepEqual(bench.told, ['system_memory_high_watermark 99.9']);
  Object.defineProperty(bench, 'memory', {
    configurable: true,
    get: () => {
      throw new Error('unreadable');
    },
  });
  await bench.check();
  assert.equal(bench.faults.length, 1);
  Object.defineProperty(bench, 'memory', {
    configurable: true,
    value: { used: 1, max: 1000, ownBytes: 0 },
  });
  await bench.check();
  assert.deepEqual(bench.told.slice(1), ['system_memory_high_watermark cleared']);
});
