// Messages as events, and a place where listeners are told of them, for tests of previews.

import type { MessageView } from '#hooks/table';
import { type EventDefinition, type EventName, eventNamed, TableRecord } from './events.ts';
import { Happening } from './happening.ts';
import type { EventListener } from './rule-set.ts';

export function messageView(topic: string, payload: string | Buffer): MessageView {
  return {
    ...{ id: '1', topic, payload: Buffer.from(payload), qos: 1, retain: false },
    ...{ properties: undefined, clientId: 'c1', username: undefined, timestampMs: 5 },
  };
}

export function recordOfMessage(
  message: MessageView,
  atMs = 1000,
  event: EventName = 'message.publish',
): TableRecord {
  const definition = eventNamed(event) as EventDefinition;
  return new TableRecord(definition, new Happening('n1', atMs, message, undefined));
}

/** Tells every listener of the event; filters are not looked at. */
export class Stage {
  readonly listeners: Set<EventListener> = new Set();

  readonly listen: (listener: EventListener) => () => void = (listener) => {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  };

  publish(topic: string, payload: string, atMs?: number): void {
    const record = recordOfMessage(messageView(topic, payload), atMs);
    for (const listener of this.listeners) {
      if (listener.interests.has('message.publish')) {
        listener.onEvent('message.publish', topic, record);
      }
    }
  }
}
