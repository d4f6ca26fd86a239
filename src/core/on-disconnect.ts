// DISCONNECT: the client leaves in order. Code 0 takes its will back [MQTT-3.14.4-3]; every other
// code leaves it to be published. An MQTT 5 client may change how long its session lives, but not
// bring one to life that was to end with the connection.

import type { DisconnectPacket } from '#wire/packet';
import { ProtocolError } from '#wire/protocol-error';
import { Reason } from '#wire/reason-codes';
import type { Channel } from './channel.ts';
import { expiryOf } from './session-expiry.ts';

/** Codes that tell a client something; a client has no use for them. */
const serverOnly: ReadonlySet<number> = new Set([
  Reason.notAuthorized,
  Reason.serverBusy,
  Reason.serverShuttingDown,
  Reason.badAuthenticationMethod,
  Reason.keepaliveTimeout,
  Reason.sessionTakenOver,
  Reason.topicFilterInvalid,
  Reason.retainNotSupported,
  Reason.qosNotSupported,
  Reason.useAnotherServer,
  Reason.serverMoved,
  Reason.sharedSubscriptionsNotSupported,
  Reason.connectionRateExceeded,
  Reason.maximumConnectTime,
  Reason.subscriptionIdentifiersNotSupported,
  Reason.wildcardSubscriptionsNotSupported,
]);

export function onDisconnect(channel: Channel, packet: DisconnectPacket): undefined {
  if (serverOnly.has(packet.reasonCode) || packet.properties.serverReference !== undefined) {
    const text = 'Cannot take DISCONNECT: code or server reference is for servers to send';
    throw new ProtocolError(Reason.protocolError, text);
  }
  const { session } = channel;
  const wanted = packet.properties.sessionExpirySeconds;
  if (session !== undefined && wanted !== undefined) {
    if (session.expirySeconds === 0 && wanted > 0) {
      throw new ProtocolError(
        Reason.protocolError,
        `Cannot set session expiry to ${wanted}: it was 0 at CONNECT`,
      );
    }
    channel.core.sessions.setExpiry(session, expiryOf(wanted));
  }
  if (packet.reasonCode === Reason.normalDisconnection) channel.will = undefined;
  channel.close('normal');
}
