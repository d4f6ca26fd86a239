// What workers say to each other besides messages, in its place among them: the frozen list. All of it
// is small and rare, so it goes as JSON.

import type { MemberName, MemberState, Interest } from '#core/peers-port';
import type { SessionHead } from '#core/store-port';
import type { Subscription } from '#core/subscription';
import type { PackedBaggage } from './packed-baggage.ts';

/** A session that is to move, as the worker that has it describes it. */
export interface Offer {
  readonly clientId: string;
  readonly move: string;
  /** Its number in the store; undefined: it is not there. */
  readonly no: number | undefined;
  readonly isStored: boolean;
  readonly head: PackedHead;
  readonly subscriptions: readonly Subscription[];
  /** Of the shared ones among them, by their filter. */
  readonly joinNos: Readonly<Record<string, number>>;
}

export type PackedHead = Omit<SessionHead, 'expirySeconds'> & {
  readonly expirySeconds: number | null;
};

export type Word =
  /** What is wanted of a filter. */
  | readonly ['interest', filter: string, level: Interest]
  | readonly ['member', MemberState]
  | readonly ['left', MemberName]
  /** Everything that is subscribed has been said: from here on changes are. */
  | readonly ['hello']
  /** The awaited messages of that batch are flushed, or could not be. */
  | readonly ['stored', batch: number, isStored: boolean]
  /** The publisher of these, a session in the store, repeats them in another worker. */
  | readonly ['disown', sessionNo: number]
  /** Asks for everything told to be flushed; and the answer. */
  | readonly ['flush', question: number]
  | readonly ['flushed', question: number]
  /** A session moves; see session-moves.ts. */
  | readonly ['offer', Offer]
  | readonly ['arrive', clientId: string, move: string, from: number]
  | readonly ['gone', clientId: string, move: string]
  | readonly ['here', clientId: string, move: string]
  | readonly ['handover', clientId: string, move: string, baggage: PackedBaggage]
  | readonly ['arrived', clientId: string, move: string]
  | readonly ['stay', clientId: string, move: string]
  /** A member is with that worker again, which died while its session was moving. */
  | readonly ['returned', worker: number, MemberState];

export function packHead(head: SessionHead): PackedHead {
  const { expirySeconds } = head;
  return { ...head, expirySeconds: Number.isFinite(expirySeconds) ? expirySeconds : null };
}

export function unpackHead(head: PackedHead): SessionHead {
  const expirySeconds = head.expirySeconds ?? Number.POSITIVE_INFINITY;
  // JSON leaves out what is undefined.
  const { username, provenUsername, leftAtMs } = head;
  return { ...head, expirySeconds, username, provenUsername, leftAtMs };
}
