// Values by ranges of addresses, and those whose range an address lies in.
//
//     prefixes  [ 128, 104, 32 ]                    narrowest first
//     networks  128 → { 1.2.3.4: v, ::1: v }  104 → { 10.0.0.0: v, 11.0.0.0: v }  32 → { 2001:db8::: v }
//
// Law: a prefix is listed while it has networks. Cost: one lookup for each prefix in use, of which there
// are few, however many ranges there are.

import { type AddressRange, networkOf } from '#base/address-range';

export class RangeMap<V> {
  #prefixes: number[] = [];
  readonly #networks = new Map<number, Map<bigint, V>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  set({ network, prefix }: AddressRange, value: V): void {
    let networks = this.#networks.get(prefix);
    if (networks === undefined) {
      networks = new Map();
      this.#networks.set(prefix, networks);
      this.#prefixes = [...this.#prefixes, prefix].sort((a, b) => b - a);
    }
    this.#size -= networks.size;
    networks.set(network, value);
    this.#size += networks.size;
  }

  delete({ network, prefix }: AddressRange): void {
    const networks = this.#networks.get(prefix);
    if (networks?.delete(network) !== true) return;
    this.#size -= 1;
    if (networks.size > 0) return;
    this.#networks.delete(prefix);
    this.#prefixes = this.#prefixes.filter((one) => one !== prefix);
  }

  clear(): void {
    this.#prefixes = [];
    this.#networks.clear();
    this.#size = 0;
  }

  /** Whether the address lies in a range whose value is wanted. */
  some(bits: bigint, isWanted: (value: V) => boolean): boolean {
    return this.#prefixes.some((prefix) => {
      const value = this.#networks.get(prefix)?.get(networkOf(bits, prefix));
      return value !== undefined && isWanted(value);
    });
  }
}
