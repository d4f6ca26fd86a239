// From the topic of a PUBLISH, as bytes in the read buffer, to its Route. A device publishes to the
// same topic again and again: comparing with the last one costs less than making a string to look
// it up. A topic that the router does not know is decoded and validated, once.

import { ProtocolError } from '#wire/protocol-error';
import { Reason } from '#wire/reason-codes';
import { readUtf8 } from '#wire/utf8';
import { topicNameFault } from '#topics/topic';
import type { Route, Router } from './router.ts';

/** Where the last Route is kept: the connection. */
export interface RouteMemory {
  lastRoute: Route | null;
}

/** Throws for bytes that are no topic name. The Route is up to date. */
export function routeOfTopic(
  router: Router,
  memory: RouteMemory,
  bytes: Buffer,
  start: number,
  end: number,
): Route {
  const last = memory.lastRoute;
  const isLast = last !== null && isSameTopic(last.bytes, bytes, start, end - start);
  const route = isLast ? router.refresh(last) : router.routeOf(bytes, start, end, validTopic);
  memory.lastRoute = route;
  return route;
}

function isSameTopic(topic: Buffer, bytes: Buffer, start: number, length: number): boolean {
  if (topic.length !== length) return false;
  // Topics of one fleet differ at their end more often than at their beginning.
  for (let i = length - 1; i >= 0; i--) {
    if (topic[i] !== bytes[start + i]) return false;
  }
  return true;
}

/** [MQTT-3.3.2-1], [MQTT-3.3.2-2] */
function validTopic(bytes: Buffer, start: number, end: number): string {
  const topic = readUtf8(bytes, start, end);
  const fault = topicNameFault(topic);
  if (fault !== undefined) throw new ProtocolError(Reason.topicNameInvalid, fault);
  return topic;
}
