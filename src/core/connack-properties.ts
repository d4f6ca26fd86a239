// What a CONNACK tells an MQTT 5 client: whatever differs from what the protocol assumes anyway.

import type { Properties } from '#wire/packet';
import type { ConnectAttempt } from './connect-attempt.ts';

export function connackProperties(attempt: ConnectAttempt): Properties {
  const { channel, packet } = attempt;
  const { zone } = channel;
  const properties: Properties = { maximumPacketSize: zone.maxPacketBytes };
  if (attempt.isAssigned) properties.assignedClientId = attempt.clientId; // [MQTT-3.2.2-16]
  if (zone.receiveMaximum !== undefined) properties.receiveMaximum = zone.receiveMaximum;
  if (zone.maxQosAllowed < 2) properties.maximumQos = zone.maxQosAllowed;
  if (!zone.retainAvailable) properties.retainAvailable = false;
  if (zone.maxTopicAlias > 0) properties.topicAliasMaximum = zone.maxTopicAlias;
  if (!zone.wildcardSubscription) properties.wildcardAvailable = false;
  if (!zone.sharedSubscription) properties.sharedAvailable = false;
  if (channel.keepaliveSeconds !== packet.keepaliveSeconds) {
    properties.serverKeepaliveSeconds = channel.keepaliveSeconds;
  }
  if (packet.properties.requestResponseInfo === true && zone.responseInformation !== undefined) {
    properties.responseInfo = zone.responseInformation
      .replaceAll('%c', () => attempt.clientId)
      .replaceAll('%u', () => attempt.username ?? '');
  }
  if (packet.properties.authMethod !== undefined) {
    properties.authMethod = packet.properties.authMethod; // [MQTT-4.12.0-5]
    if (attempt.authData !== undefined) properties.authData = attempt.authData;
  }
  return properties;
}
