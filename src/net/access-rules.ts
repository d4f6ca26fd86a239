// Who may connect to a listener by address: `allow|deny <address, CIDR or all>`, in order. The first
// rule that matches decides; when none does, the connection is accepted.

import { BlockList, isIP } from 'node:net';

export interface AccessRule {
  readonly allow: boolean;
  readonly range: string;
}

interface Entry {
  readonly allow: boolean;
  /** Undefined: every address. */
  readonly range: BlockList | undefined;
}

export class AccessRules {
  readonly #entries: readonly Entry[];

  constructor(rules: readonly AccessRule[]) {
    this.#entries = rules.map(({ allow, range }) => ({ allow, range: readRange(range) }));
  }

  /** `address` is an IP address as the socket tells it, or with IPv4-mapped IPv6 written as IPv4. */
  allows(address: string): boolean {
    for (const { allow, range } of this.#entries) {
      if (range === undefined || range.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')) {
        return allow;
      }
    }
    return true;
  }
}

function readRange(text: string): BlockList | undefined {
  if (text === 'all') return undefined;
  const slash = text.indexOf('/');
  const address = slash < 0 ? text : text.slice(0, slash);
  const version = isIP(address);
  if (version === 0) {
    throw new RangeError(`Cannot read access rule "${text}": want "all", an address or a CIDR`);
  }
  const widest = version === 4 ? 32 : 128;
  const prefix = slash < 0 ? widest : Number(text.slice(slash + 1));
  if (!Number.isInteger(prefix) || prefix < 0 || prefix > widest || text.endsWith('/')) {
    throw new RangeError(`Cannot read access rule "${text}": want a prefix of 0 to ${widest}`);
  }
  const range = new BlockList();
  range.addSubnet(address, prefix, version === 4 ? 'ipv4' : 'ipv6');
  return range;
}
