// The will of a CONNECT as the broker keeps it: complete, so that it can be published without the
// connection, by another process if need be.

import type { Will } from '#wire/packet';
import type { Channel } from './channel.ts';
import type { StoredWill } from './store-port.ts';

export function willOf(channel: Channel, will: Will, expirySeconds: number): StoredWill {
  const { willDelaySeconds = 0, ...properties } = will.properties;
  return {
    topic: channel.mountpoint + will.topic,
    payload: will.payload,
    qos: will.qos,
    retain: will.retain,
    properties,
    from: channel.publisher,
    // With no session to wait for, there is nothing to wait for.
    delaySeconds: Math.min(willDelaySeconds, expirySeconds),
    dueAtMs: undefined,
  };
}
