// The list of bans as a worker has it: by client id, by username, by address or range of addresses. Law:
// a ban holds until its time and not a moment longer, whether somebody has swept it away or not.

import { addressBits, type AddressRange, parseRange, rangeKey } from '#base/address-range';
import type { BanSubject } from '#hooks/table';
import { RangeMap } from './range-map.ts';

export const banKinds = ['client_id', 'username', 'ip_address'] as const;
export type BanKind = (typeof banKinds)[number];

export interface BanName {
  readonly as: BanKind;
  /** Where `as` is `ip_address`: an address or a CIDR. */
  readonly who: string;
}

export interface Ban extends BanName {
  /** Unix time in seconds; undefined: for ever. */
  readonly until: number | undefined;
}

/** Why nobody can be banned by this name, worded to follow a colon; undefined: somebody can. */
export function banFault({ as, who }: BanName): string | undefined {
  if (who === '') return 'it is empty';
  if (as !== 'ip_address') return undefined;
  const range = parseRange(who);
  return typeof range === 'string' ? range : undefined;
}

/** One text for names that mean the same, in the order in which bans are listed. */
export function banKey({ as, who }: BanName): string {
  return `${as}:${as === 'ip_address' ? rangeKey(rangeOf(who)) : who}`;
}

export function isOver({ until }: Pick<Ban, 'until'>, nowMs: number): boolean {
  return nowMs >= endMsOf(until);
}

/** Cost: a lookup for the client id, one for each username, and those of a RangeMap. */
export class BanList {
  /** When each ends, in ms. */
  readonly #clientIds = new Map<string, number>();
  readonly #usernames = new Map<string, number>();
  readonly #ranges = new RangeMap<number>();

  get size(): number {
    return this.#clientIds.size + this.#usernames.size + this.#ranges.size;
  }

  add({ as, who, until }: Ban): void {
    const endMs = endMsOf(until);
    if (as === 'ip_address') this.#ranges.set(rangeOf(who), endMs);
    else this.#namesOf(as).set(who, endMs);
  }

  remove({ as, who }: BanName): void {
    if (as === 'ip_address') this.#ranges.delete(rangeOf(who));
    else this.#namesOf(as).delete(who);
  }

  clear(): void {
    this.#clientIds.clear();
    this.#usernames.clear();
    this.#ranges.clear();
  }

  has({ clientId, usernames, address }: BanSubject, nowMs: number): boolean {
    const holds = (endMs: number | undefined): boolean => endMs !== undefined && nowMs < endMs;
    if (holds(this.#clientIds.get(clientId))) return true;
    if (usernames.some((name) => holds(this.#usernames.get(name)))) return true;
    if (this.#ranges.size === 0) return false;
    const bits = addressBits(address);
    return bits !== undefined && this.#ranges.some(bits, holds);
  }

  #namesOf(as: 'client_id' | 'username'): Map<string, number> {
    return as === 'client_id' ? this.#clientIds : this.#usernames;
  }
}

function endMsOf(until: number | undefined): number {
  return until === undefined ? Number.POSITIVE_INFINITY : until * 1000;
}

/** Names are checked by `banFault` before they get here. */
function rangeOf(who: string): AddressRange {
  const range = parseRange(who);
  if (typeof range !== 'string') return range;
  throw new RangeError(`Cannot ban the address "${who}": ${range}`);
}
