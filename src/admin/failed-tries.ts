// How often an address has named a wrong secret lately. Law: an address that guesses is made to wait, and
// however many addresses guess, the memory of them is bounded; the oldest are forgotten first.

import { isIPv6 } from 'node:net';
import type { Clock } from '#base/clock';

export interface FailedTriesLimits {
  readonly triesMax: number;
  readonly windowMs: number;
  readonly addressesMax: number;
}

const usual: FailedTriesLimits = { triesMax: 10, windowMs: 60_000, addressesMax: 10_000 };

interface Window {
  readonly endsAtMs: number;
  tries: number;
}

export class FailedTries {
  readonly #clock: Clock;
  readonly #limits: FailedTriesLimits;
  /** In the order of their ends. */
  readonly #windows = new Map<string, Window>();

  constructor(clock: Clock, limits: FailedTriesLimits = usual) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** How long this address has to wait before its next try; 0: not at all. */
  waitSeconds(address: string): number {
    const window = this.#windows.get(sourceOf(address));
    if (window === undefined || window.tries < this.#limits.triesMax) return 0;
    return Math.max(0, Math.ceil((window.endsAtMs - this.#clock.monotonicMs()) / 1000));
  }

  /** Counted before it is known whether it fails, so that many at once are not more than the limit. */
  begin(address: string): void {
    const source = sourceOf(address);
    const now = this.#clock.monotonicMs();
    const window = this.#windows.get(source);
    if (window !== undefined && window.endsAtMs > now) {
      window.tries += 1;
      return;
    }
    this.#windows.delete(source);
    this.#windows.set(source, { endsAtMs: now + this.#limits.windowMs, tries: 1 });
    for (const [oldest, { endsAtMs }] of this.#windows) {
      if (endsAtMs > now && this.#windows.size <= this.#limits.addressesMax) break;
      this.#windows.delete(oldest);
    }
  }

  /** It was no failure. */
  forgive(address: string): void {
    const window = this.#windows.get(sourceOf(address));
    if (window !== undefined) window.tries -= 1;
  }
}

/** Who has one address of IPv6 has the 2^64 around it. */
function sourceOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!isIPv6(address)) return address;
  const [head = '', tail = ''] = address.split('::');
  const groups = head === '' ? [] : head.split(':');
  const after = tail === '' ? [] : tail.split(':');
  while (address.includes('::') && groups.length + after.length < 8) groups.push('0');
  return [...groups, ...after].slice(0, 4).join(':');
}
