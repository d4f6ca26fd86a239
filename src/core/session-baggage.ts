// What a session that moves to another worker takes along because the store does not have it: QoS 0
// messages that wait, and everything where sessions live in memory alone.

import type { Delivery } from './delivery.ts';
import type { HeldBytes } from './held-bytes.ts';
import type { Phase } from './inflight.ts';
import type { Message } from './message.ts';
import type { Session } from './session.ts';
import type { DeliveryOptions } from './store-port.ts';
import { unpromised } from './wait.ts';

/** A message as it waited (phase 0) or was under way. */
export interface Piece {
  /** Undefined: the client has it. */
  readonly message: Message | undefined;
  readonly options: DeliveryOptions;
  readonly packetId: number;
  readonly phase: Phase | 0;
}

export interface Baggage {
  readonly pieces: readonly Piece[];
  /** Packet ids of QoS 2 publishes that are not released. */
  readonly taken: readonly (readonly [packetId: number, sinceMs: number])[];
}

/** Of a session without a connection. What waited is not held here any more. */
export function packBaggage(session: Session, held: HeldBytes): Baggage {
  const { window, queue } = session.out;
  const pieces: Piece[] = [];
  for (const { message, delivery, packetId, phase, seq } of window.inflight.inOrder()) {
    if (seq === 0) pieces.push({ message, options: optionsOf(delivery), packetId, phase });
  }
  for (const { message, delivery } of queue.extractHeld(({ seq }) => seq === 0)) {
    held.letGo(message);
    pieces.push({ message, options: optionsOf(delivery), packetId: 0, phase: 0 });
  }
  const isStored = session.journal !== undefined;
  return { pieces, taken: isStored ? [] : [...session.awaitingRel.entries()] };
}

/** Into a session that nobody is connected to yet. `deliveryFor` finds the objects of this worker. */
export function unpackBaggage(
  session: Session,
  { pieces, taken }: Baggage,
  held: HeldBytes,
  deliveryFor: (options: DeliveryOptions) => Delivery,
): void {
  for (const { message, options, packetId, phase } of pieces) {
    const delivery = deliveryFor(options);
    if (phase === 0) {
      if (message !== undefined) unpromised(session.deliver(message, delivery));
      continue;
    }
    if (message !== undefined) held.keep(message.compact());
    session.out.window.resume(packetId, phase, message, delivery);
  }
  for (const [packetId, sinceMs] of taken) session.awaitingRel.restore(packetId, sinceMs);
}

function optionsOf({
  qos,
  retainAsPublished,
  isReplay,
  subscriptionIds,
  group,
}: Delivery): DeliveryOptions {
  const shared = group && { name: group.name, filter: group.filter };
  return { qos, retainAsPublished, isReplay, subscriptionIds, group: shared };
}
