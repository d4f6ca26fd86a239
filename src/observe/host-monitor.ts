// Looks at the machine from time to time and raises alarms where a watermark is passed. Laws: an alarm
// that has two watermarks is raised at the upper and cleared below the lower; a figure that cannot be had
// raises nothing and clears nothing; a check that takes long is not begun a second time.

import type { Clock, ClockTimer } from '#base/clock';
import type { MonitorSettings } from '#config/settings';

/** What the machine tells. Undefined: it does not. */
export interface HostFigures {
  /** Milliseconds of all cores since some moment in the past. */
  cpu(): CpuTimes | undefined;
  memory(): Promise<MemoryUse | undefined>;
  /** The disk with the data directory. */
  disk(): Promise<Use | undefined>;
  /** Open files of this process. */
  files(): Promise<Use | undefined>;
}

export interface CpuTimes {
  readonly busyMs: number;
  readonly totalMs: number;
}

export interface Use {
  readonly used: number;
  readonly max: number;
}

/** Of what this process may have: of the machine, or of its container. */
export interface MemoryUse extends Use {
  /** By this process alone. */
  readonly ownBytes: number;
}

export interface HostMonitorParts {
  readonly clock: Clock;
  readonly limits: MonitorSettings;
  readonly figures: HostFigures;
  /** Also for one that is raised already: its text is renewed. */
  readonly raise: (id: string, text: string) => void;
  readonly clear: (id: string) => void;
  readonly onFault: (error: unknown) => void;
}

export class HostMonitor implements Disposable {
  readonly #parts: HostMonitorParts;
  readonly #timers = new Set<ClockTimer>();
  #cpu: CpuTimes | undefined;
  #isOver = false;

  constructor(parts: HostMonitorParts) {
    const { limits, figures } = parts;
    this.#parts = parts;
    this.#cpu = figures.cpu();
    this.#every(limits.cpuCheckIntervalMs, async () => this.#checkCpu());
    this.#every(limits.memCheckIntervalMs, () => this.#checkMemory());
    this.#every(limits.memCheckIntervalMs, () => this.#checkDisk());
    this.#every(limits.vmCheckIntervalMs, () => this.#checkFiles());
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
  }

  #every(ms: number, check: () => Promise<void>): void {
    if (this.#isOver) return;
    const timer = this.#parts.clock.setTimer(ms, () => {
      this.#timers.delete(timer);
      void check()
        .catch(this.#parts.onFault)
        .then(() => this.#every(ms, check));
    });
    this.#timers.add(timer);
  }

  #checkCpu(): void {
    const { figures, limits } = this.#parts;
    const before = this.#cpu;
    const now = figures.cpu();
    this.#cpu = now;
    const totalMs = before && now ? now.totalMs - before.totalMs : 0;
    if (before === undefined || now === undefined || totalMs <= 0) return;
    const share = (now.busyMs - before.busyMs) / totalMs;
    const { cpuHighWatermark: high, cpuLowWatermark: low } = limits;
    this.#judge('cpu_high_watermark', share, high, low, String(share * 100));
  }

  async #checkMemory(): Promise<void> {
    const memory = await this.#parts.figures.memory();
    if (this.#isOver || memory === undefined || memory.max <= 0) return;
    const { used, max, ownBytes } = memory;
    const { sysmemHighWatermark: high, procmemHighWatermark: own } = this.#parts.limits;
    const [share, ownShare] = [used / max, ownBytes / max];
    this.#judge('system_memory_high_watermark', share, high, high, String(share * 100));
    this.#judge('process_memory_high_watermark', ownShare, own, own, String(ownShare * 100));
  }

  async #checkDisk(): Promise<void> {
    const disk = await this.#parts.figures.disk();
    if (this.#isOver || disk === undefined || disk.max <= 0) return;
    const { diskHighWatermark: high } = this.#parts.limits;
    const share = disk.used / disk.max;
    this.#judge('disk_almost_full', share, high, high, String(share * 100));
  }

  async #checkFiles(): Promise<void> {
    const files = await this.#parts.figures.files();
    if (this.#isOver || files === undefined || files.max <= 0) return;
    const { processHighWatermark: high, processLowWatermark: low } = this.#parts.limits;
    this.#judge('too_many_processes', files.used / files.max, high, low, String(files.used));
  }

  #judge(id: string, share: number, high: number, low: number, text: string): void {
    if (share >= high) this.#parts.raise(id, text);
    else if (share < low) this.#parts.clear(id);
  }
}
