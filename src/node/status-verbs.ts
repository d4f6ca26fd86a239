// How a worker and its listeners are doing, and ending a connection.

import type { ListenerReport } from '#net/listener';
import { type ThreadStatus, threadStatus } from './thread-status.ts';
import type { Place } from './place.ts';

export type StatusVerbs = {
  status: () => ThreadStatus;
  listeners: () => readonly ListenerReport[];
  /** Ends the connection of a client. False: it is not connected here. */
  kick: (clientId: string) => boolean;
};

export function statusVerbs({ broker, listeners }: Place): StatusVerbs {
  return {
    status: threadStatus,
    listeners,
    kick: (clientId) => broker.kick(clientId),
  };
}
