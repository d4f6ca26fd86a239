// What a server said. Laws: only 200 can open a door; an answer that cannot be understood as a whole opens
// none, because what it might have said about mountpoint and rights would be lost.

import { isUtf8 } from 'node:buffer';
import { topicNameFault } from '#sdk';
import type { HttpReply } from './exchange.ts';

export type Reading =
  | {
      readonly says: 'allow';
      /** Undefined: it does not say. */
      readonly isSuperuser: boolean | undefined;
      readonly mountpoint: string | undefined;
    }
  /** `isLasting`: a decision, and not the want of one. */
  | { readonly says: 'deny'; readonly isLasting: boolean }
  | { readonly says: 'ignore' }
  | { readonly says: 'nonsense'; readonly fault: string };

const mountpointBytesMax = 1024;

export function readReply(reply: HttpReply): Reading {
  const { status, body, contentType, contentEncoding } = reply;
  if (status !== 200) {
    const isUnable = status >= 500 || status === 408 || status === 429;
    return { says: 'deny', isLasting: !isUnable };
  }
  if (contentEncoding !== '' && contentEncoding !== 'identity') {
    return nonsense(
      `it is encoded with ${JSON.stringify(contentEncoding)}, which was not asked for`,
    );
  }
  if (!isUtf8(body)) return nonsense('it is not UTF-8');
  const text = body.toString().trim();
  const isJson = text.startsWith('{') || (contentType === 'application/json' && text !== '');
  return isJson ? readJson(text) : readWord(text);
}

function nonsense(fault: string): Reading {
  return { says: 'nonsense', fault };
}

function allow(isSuperuser?: boolean, mountpoint?: string): Reading {
  return { says: 'allow', isSuperuser, mountpoint };
}

/** Any text but these is consent, as it always was. */
function readWord(text: string): Reading {
  const word = text.toLowerCase();
  if (word === 'ignore') return { says: 'ignore' };
  if (word === 'deny') return { says: 'deny', isLasting: true };
  return allow();
}

function readJson(text: string): Reading {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return nonsense('it is no JSON');
  }
  if (typeof value === 'string') return readWord(value);
  if (value === false) return { says: 'deny', isLasting: true };
  if (typeof value !== 'object' || value === null) return allow();
  return readFields(value as Readonly<Record<string, unknown>>);
}

function readFields({
  result,
  is_superuser,
  mountpoint,
}: Readonly<Record<string, unknown>>): Reading {
  if (result === 'ignore') return { says: 'ignore' };
  if (result === 'deny') return { says: 'deny', isLasting: true };
  if (result !== undefined && result !== 'allow') {
    return nonsense('"result" is none of allow, deny, ignore');
  }
  if (is_superuser !== undefined && typeof is_superuser !== 'boolean') {
    return nonsense('"is_superuser" is neither true nor false');
  }
  if (mountpoint === undefined) return allow(is_superuser);
  const fault = mountpointFault(mountpoint);
  if (fault !== undefined) return nonsense(`"mountpoint" ${fault}`);
  return allow(is_superuser, mountpoint as string);
}

/** An empty one takes that of the zone away. */
function mountpointFault(mountpoint: unknown): string | undefined {
  if (typeof mountpoint !== 'string') return 'is no text';
  if (mountpoint === '') return undefined;
  if (Buffer.byteLength(mountpoint) > mountpointBytesMax) {
    return `has more than ${mountpointBytesMax} bytes`;
  }
  if (mountpoint.startsWith('$')) return 'begins with $, where topics are not those of clients';
  return topicNameFault(mountpoint);
}
