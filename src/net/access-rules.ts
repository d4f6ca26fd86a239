// Who may connect to a listener by address: `allow|deny <address, CIDR or all>`, in order. The first
// rule that matches decides; when none does, the connection is accepted.

import { addressBits, type AddressRange, isInRange, parseRange } from '#base/address-range';

export interface AccessRule {
  readonly allow: boolean;
  readonly range: string;
}

interface Entry {
  readonly allow: boolean;
  /** Undefined: every address. */
  readonly range: AddressRange | undefined;
}

export class AccessRules {
  readonly #entries: readonly Entry[];

  constructor(rules: readonly AccessRule[]) {
    this.#entries = rules.map(({ allow, range }) => ({ allow, range: readRange(range) }));
  }

  /** `address` is an IP address as the socket tells it, or with IPv4-mapped IPv6 written as IPv4. */
  allows(address: string): boolean {
    if (this.#entries.length === 0) return true;
    const bits = addressBits(address);
    for (const { allow, range } of this.#entries) {
      if (range === undefined || (bits !== undefined && isInRange(bits, range))) return allow;
    }
    return true;
  }
}

function readRange(text: string): AddressRange | undefined {
  if (text === 'all') return undefined;
  const range = parseRange(text);
  if (typeof range !== 'string') return range;
  throw new RangeError(`Cannot read access rule "${text}": ${range}; "all" is everybody`);
}
