// The other workers of this node, later other nodes, as the core sees them: each a peer that wants
// some messages and is given them, all together the ones that are asked who owns a client id.

import type { FrameRun } from './delivery.ts';
import type { Message, Publisher } from './message.ts';
import type { Wait } from './ports.ts';

/**
 * Another worker of this node, later another node: it has subscribers of its own. What it is given
 * arrives there in the order in which it was given.
 */
export interface Peer {
  /** Its place among all workers, which is the same for everybody. */
  readonly index: number;
  /**
   * Hands a message to whoever subscribes there. `isAwaited`: somebody's session must have it before
   * it is acknowledged, and the wait is over when it is flushed there.
   */
  forward(message: Message, isAwaited: boolean): Wait;
  /** The same for whole QoS 0 frames of one topic, as they came. */
  forwardRun(run: FrameRun, topic: Buffer, isV5: boolean, from: Publisher): void;
  /** To one member of a shared subscription. `isHandedOn`: it was acknowledged before. */
  forwardTo(member: MemberState, message: Message, isHandedOn: boolean): Wait;
}

/** A member of a shared subscription by name. */
export interface MemberName {
  readonly group: string;
  /** Without the group, with mountpoint. */
  readonly filter: string;
  readonly clientId: string;
}

/** A member as the others know it. Lists of members are in the order of `joinNo` everywhere. */
export interface MemberState extends MemberName {
  readonly joinNo: number;
  readonly isStored: boolean;
  readonly isConnected: boolean;
}

/** What a worker wants of a filter: nothing, messages, or messages that its store has to have. */
export const Interest = { none: 0, some: 1, stored: 2 } as const;
export type Interest = (typeof Interest)[keyof typeof Interest];

/** What a CONNECT asks for. Whoever has the session decides by it whether it moves or ends. */
export interface ClaimRequest {
  readonly clientId: string;
  readonly cleanStart: boolean;
  readonly provenUsername: string | undefined;
  readonly mountpoint: string;
}

/**
 * The others together. They are told what is subscribed here, and tell us (through the router) what
 * is subscribed there; and all of them together have one owner for a client id.
 */
export interface Peers {
  /** Somebody else may have subscribers or write to the store. */
  readonly isAlone: boolean;
  /** The wait is over when all of them know; nobody waits for less interest than before. */
  interest(filter: string, level: Interest): Wait;
  /** A member joined, or its state changed. The wait is over when all of them know. */
  member(member: MemberState): Wait;
  left(member: MemberName): void;
  /** The store was told of a retained message here. */
  retainedTold(): void;
  /** What the others have retained, and not flushed yet, is flushed. Never rejects. */
  retainedFlushed(): Wait;
  /**
   * Makes this worker the owner of the client id; other owners end their session first, or it is
   * among ours when the wait is over. Every claim is followed by one `attempted`, whatever became
   * of it.
   */
  claim(request: ClaimRequest): Wait;
  /** Nobody else has claimed it since. */
  owns(clientId: string): boolean;
  attempted(clientId: string): void;
  /** The session has ended. */
  release(clientId: string): void;
}
