// A member of a shared subscription whose session is in another worker. It is chosen like any other;
// what it is given goes there.

import type { Delivery, Subscriber } from './delivery.ts';
import type { Message } from './message.ts';
import type { MemberState, Peer } from './peers-port.ts';
import type { Wait } from './ports.ts';

export class RemoteMember implements Subscriber {
  readonly peer: Peer;
  readonly state: MemberState;
  readonly link = null;

  constructor(peer: Peer, state: MemberState) {
    this.peer = peer;
    this.state = state;
  }

  get clientId(): string {
    return this.state.clientId;
  }

  get isConnected(): boolean {
    return this.state.isConnected;
  }

  /** As far as we know. Where it is, another one is chosen if it has no room. */
  get isReady(): boolean {
    return this.state.isConnected;
  }

  get isStored(): boolean {
    return this.state.isStored;
  }

  deliver(message: Message, _delivery: Delivery, isHandedOn = false): Wait {
    return this.peer.forwardTo(this.state, message, isHandedOn);
  }
}
