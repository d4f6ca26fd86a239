// Bans clients that connect and disconnect too often, counted over all workers. Laws: a window begins with
// the first event of a client id and is not extended; one event too many inside it is a ban; who is banned
// already stays as it is; so many client ids and so many characters of them are remembered, the oldest
// windows going first.

import type { Clock, ClockTimer } from '#base/clock';
import { describeError } from '#base/errors';
import type { Logger } from '#base/log';
import type { Settings, ZoneSettings } from '#config/settings';
import type { FlappingEvent } from '#observe/flapping';
import type { WorkersFace } from '#node/node-face';
import type { Bans } from './bans.ts';

export interface FlappingParts {
  readonly workers: Pick<WorkersFace, 'uphold' | 'onReport'>;
  readonly bans: Pick<Bans, 'add' | 'has'>;
  readonly settings: Pick<Settings, 'zones' | 'flapping'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly trackedMax?: number;
  readonly trackedCharsMax?: number;
}

const trackedMaxUsual = 100_000;
const trackedCharsMaxUsual = 16 * 1024 * 1024;

type Limits = Pick<ZoneSettings, 'flappingThreshold' | 'flappingBanSeconds'>;

interface Window {
  readonly endMs: number;
  count: number;
}

export class Flapping implements Disposable {
  readonly #parts: FlappingParts;
  readonly #zones: ReadonlyMap<string, ZoneWindows>;
  #timer: ClockTimer | undefined;

  constructor(parts: FlappingParts) {
    this.#parts = parts;
    const { settings, trackedMax = trackedMaxUsual } = parts;
    const { trackedCharsMax = trackedCharsMaxUsual } = parts;
    const zones = [...settings.zones.values()].filter((zone) => zone.enableFlappingDetect);
    const share = (most: number): number => Math.max(1, Math.floor(most / zones.length));
    this.#zones = new Map(
      zones.map((zone) => [
        zone.name,
        new ZoneWindows(zone, share(trackedMax), share(trackedCharsMax)),
      ]),
    );
  }

  /** Client ids that are remembered. */
  get tracked(): number {
    return [...this.#zones.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /** Before anybody is let in. Where no zone wants it, nobody is asked and nothing runs. */
  async start(): Promise<void> {
    if (this.#zones.size === 0) return;
    const { workers } = this.#parts;
    workers.onReport('flapping', (events) => this.#count(events));
    this.#cleanLater();
    await workers.uphold('watchFlapping', [[...this.#zones.keys()]]);
  }

  [Symbol.dispose](): void {
    this.#timer?.cancel();
  }

  #cleanLater(): void {
    const { clock, settings } = this.#parts;
    this.#timer = clock.setTimer(settings.flapping.cleanIntervalMs, () => {
      this.#cleanLater();
      const nowMs = clock.monotonicMs();
      for (const windows of this.#zones.values()) windows.clean(nowMs);
    });
  }

  #count(events: readonly FlappingEvent[]): void {
    const nowMs = this.#parts.clock.monotonicMs();
    for (const { clientId, zone } of events) {
      const windows = this.#zones.get(zone);
      if (windows?.isTooMany(clientId, nowMs)) void this.#ban(clientId, zone, windows.limits);
    }
  }

  async #ban(clientId: string, zone: string, limits: Limits): Promise<void> {
    const { bans, clock, log } = this.#parts;
    const name = { as: 'client_id', who: clientId } as const;
    // Somebody has banned it meanwhile, perhaps for ever.
    if (bans.has(name)) return;
    const { count, perMs } = limits.flappingThreshold;
    const until = Math.ceil(clock.nowMs() / 1000) + limits.flappingBanSeconds;
    log.warn('flapping.banned', { clientId, zone, events: count + 1, withinMs: perMs, until });
    try {
      const why = { reason: 'flapping', by: 'flapping_checker', desc: undefined };
      await bans.add({ ...name, ...why, until });
    } catch (error) {
      // The list is full, or the disk: it flaps on, and is counted from the beginning.
      log.warn('flapping.failed', { clientId, zone, error: describeError(error) });
    }
  }
}

/**
 * The windows of one zone. All are equally long, so a Map, which keeps them in the order they began in,
 * has the first to end at its front: cleaning looks at those that go and at one more.
 */
class ZoneWindows {
  readonly limits: Limits;
  readonly #sizeMax: number;
  readonly #charsMax: number;
  readonly #windows = new Map<string, Window>();
  #chars = 0;

  constructor(limits: Limits, sizeMax: number, charsMax: number) {
    this.limits = limits;
    this.#sizeMax = sizeMax;
    this.#charsMax = charsMax;
  }

  get size(): number {
    return this.#windows.size;
  }

  /** Counts one event. Who had too many begins anew. */
  isTooMany(clientId: string, nowMs: number): boolean {
    const { count, perMs } = this.limits.flappingThreshold;
    const open = this.#windows.get(clientId);
    if (open === undefined || nowMs >= open.endMs) {
      this.#forget(clientId);
      this.#windows.set(clientId, { endMs: nowMs + perMs, count: 1 });
      this.#chars += clientId.length;
      this.#shrink();
      return false;
    }
    open.count += 1;
    if (open.count <= count) return false;
    this.#forget(clientId);
    return true;
  }

  clean(nowMs: number): void {
    for (const [clientId, { endMs }] of this.#windows) {
      if (nowMs < endMs) return;
      this.#forget(clientId);
    }
  }

  #shrink(): void {
    for (const clientId of this.#windows.keys()) {
      if (this.#windows.size <= this.#sizeMax && this.#chars <= this.#charsMax) return;
      this.#forget(clientId);
    }
  }

  #forget(clientId: string): void {
    if (this.#windows.delete(clientId)) this.#chars -= clientId.length;
  }
}
