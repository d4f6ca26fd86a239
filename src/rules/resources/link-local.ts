// Addresses that belong to the surroundings of the machine, where a cloud keeps its metadata and with them
// credentials: whoever may create a resource shall not read them through the broker. Law: it is the address
// that is connected to which is judged, not the name that led to it.

import { lookup as systemLookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';

const denied = new BlockList();
denied.addSubnet('169.254.0.0', 16, 'ipv4');
denied.addSubnet('fe80::', 10, 'ipv6');
// Metadata of clouds that have it elsewhere.
denied.addAddress('fd00:ec2::254', 'ipv6');
denied.addAddress('100.100.100.200', 'ipv4');
denied.addAddress('168.63.129.16', 'ipv4');

export function isLinkLocal(address: string): boolean {
  const family = isIP(address);
  if (family === 0) return false;
  return denied.check(address, family === 4 ? 'ipv4' : 'ipv6');
}

export function deniedText(host: string): string {
  return `Cannot connect to "${host}": its address is link-local or that of cloud metadata`;
}

/** As that of the system, without addresses that are denied. */
export const guardedLookup: LookupFunction = (host, options, callback) => {
  systemLookup(host, { ...options, all: true }, (error, found) => {
    if (error !== null) {
      callback(error, [], undefined);
      return;
    }
    const allowed = found.filter(({ address }) => !isLinkLocal(address));
    const [first] = allowed;
    if (first === undefined) callback(new Error(deniedText(host)), [], undefined);
    else if (options.all === true) callback(null, allowed, undefined);
    else callback(null, first.address, first.family);
  });
};
