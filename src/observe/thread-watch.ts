// Watches the thread it runs in: a loop that was held up, long collections of garbage, a heap that has
// grown large, clients and links that take nothing. Laws: what is not watched costs nothing; an event is
// told at most once in ten seconds, and a large heap once until it has been small again.

import { PerformanceObserver } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import type { Clock, ClockTimer } from '#base/clock';
import type { MonitorSettings } from '#config/settings';

export type SysmonEvent =
  | 'long_gc'
  | 'long_schedule'
  | 'large_heap'
  | 'busy_port'
  | 'busy_dist_port';

/** `info`: figures for people, in one line. */
export interface SysmonReport {
  readonly event: SysmonEvent;
  readonly info: string;
}

export type ThreadLimits = Pick<
  MonitorSettings,
  'longGcMs' | 'longScheduleMs' | 'largeHeap' | 'busyPort' | 'busyDistPort'
>;

export interface HeapFigures {
  readonly usedBytes: number;
  readonly limitBytes: number;
}

export interface ThreadWatchParts {
  readonly clock: Clock;
  readonly limits: ThreadLimits;
  readonly report: (report: SysmonReport) => void;
  /** Client ids of those whose outbox is full; absent in a thread without clients. */
  readonly busyClients?: () => readonly string[];
  /** For tests: in place of the real heap. */
  readonly heap?: () => HeapFigures;
}

const lookMs = 1000;
const beatMsMin = 25;
const repeatMs = 10_000;
/** Client ids named in a line. */
const namedMax = 5;

/**
 * The loop is watched by a timer that looks how late it is. A hold-up may begin just after a beat, so the
 * beat is half of `longScheduleMs`: what is half as long again is always seen, nothing shorter than it
 * ever. With 240 ms that costs an idle thread a thousandth of a core, and a busy one nothing.
 */
export class ThreadWatch implements Disposable {
  readonly #parts: ThreadWatchParts;
  readonly #heap: () => HeapFigures;
  readonly #heapBytesMax: number;
  readonly #beatMs: number;
  readonly #toldAtMs = new Map<SysmonEvent, number>();
  #timer: ClockTimer | undefined;
  #gc: PerformanceObserver | undefined;
  #lookAtMs = 0;
  #isHeapLarge = false;

  constructor(parts: ThreadWatchParts) {
    const { limits, clock } = parts;
    this.#parts = parts;
    this.#heap = parts.heap ?? heapFigures;
    this.#heapBytesMax = heapBytesMax(limits, this.#heap);
    const looks = this.#heapBytesMax > 0 || this.#watchesPorts;
    const half = Math.max(beatMsMin, Math.floor(limits.longScheduleMs / 2));
    this.#beatMs = limits.longScheduleMs > 0 ? Math.min(half, lookMs) : lookMs;
    this.#lookAtMs = clock.monotonicMs() + lookMs;
    if (looks || limits.longScheduleMs > 0) this.#await();
    if (limits.longGcMs > 0) this.#watchGc();
  }

  get #watchesPorts(): boolean {
    return this.#parts.limits.busyPort && this.#parts.busyClients !== undefined;
  }

  /** A link to another worker has become congested. */
  onCongested(): void {
    if (this.#parts.limits.busyDistPort) {
      this.#tell('busy_dist_port', 'a link to another worker is congested');
    }
  }

  [Symbol.dispose](): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#gc?.disconnect();
  }

  #await(): void {
    const { clock } = this.#parts;
    const dueMs = clock.monotonicMs() + this.#beatMs;
    this.#timer = clock.setTimer(this.#beatMs, () => this.#beat(dueMs));
  }

  #beat(dueMs: number): void {
    const { clock, limits } = this.#parts;
    const nowMs = clock.monotonicMs();
    this.#await();
    const lateMs = nowMs - dueMs;
    if (limits.longScheduleMs > 0 && lateMs >= limits.longScheduleMs) {
      this.#tell('long_schedule', `held up for ${Math.round(lateMs)} ms`);
    }
    if (nowMs < this.#lookAtMs) return;
    this.#lookAtMs = nowMs + lookMs;
    if (this.#heapBytesMax > 0) this.#lookAtHeap();
    if (this.#watchesPorts) this.#lookAtPorts();
  }

  #lookAtHeap(): void {
    const { usedBytes, limitBytes } = this.#heap();
    const wasLarge = this.#isHeapLarge;
    this.#isHeapLarge = usedBytes > this.#heapBytesMax;
    if (!this.#isHeapLarge || wasLarge) return;
    const isTold = this.#tell('large_heap', `${usedBytes} bytes used of ${limitBytes}`);
    // Told too often: the next look is to see it again.
    if (!isTold) this.#isHeapLarge = false;
  }

  #lookAtPorts(): void {
    const busy = this.#parts.busyClients?.() ?? [];
    if (busy.length === 0) return;
    const more = busy.length > namedMax ? `, and ${busy.length - namedMax} more` : '';
    this.#tell('busy_port', `outbox full: ${busy.slice(0, namedMax).join(', ')}${more}`);
  }

  #watchGc(): void {
    const { longGcMs } = this.#parts.limits;
    this.#gc = new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) {
        if (duration >= longGcMs) this.#tell('long_gc', `took ${Math.round(duration)} ms`);
      }
    });
    this.#gc.observe({ entryTypes: ['gc'] });
  }

  #tell(event: SysmonEvent, info: string): boolean {
    const nowMs = this.#parts.clock.monotonicMs();
    const toldAtMs = this.#toldAtMs.get(event);
    if (toldAtMs !== undefined && nowMs < toldAtMs + repeatMs) return false;
    this.#toldAtMs.set(event, nowMs);
    this.#parts.report({ event, info });
    return true;
  }
}

/** 0: not watched. */
function heapBytesMax({ largeHeap }: ThreadLimits, heap: () => HeapFigures): number {
  return 'bytes' in largeHeap ? largeHeap.bytes : largeHeap.share * heap().limitBytes;
}

function heapFigures(): HeapFigures {
  const { used_heap_size: usedBytes, heap_size_limit: limitBytes } = getHeapStatistics();
  return { usedBytes, limitBytes };
}
