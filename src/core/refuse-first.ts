// A CONNECT that cannot be read. A client of MQTT 5, or one that asks for a version we do not speak,
// gets a CONNACK that says so; to all others nothing can be said that they would understand.

import { connackCodeV3, Reason } from '#wire/reason-codes';
import type { ProtocolError } from '#wire/protocol-error';
import type { Channel } from './channel.ts';

export function refuseFirst(
  channel: Channel,
  error: ProtocolError,
  bytes: Buffer,
  body: number,
  end: number,
): void {
  const isUnknownVersion = error.reasonCode === Reason.unsupportedProtocolVersion;
  channel.isV5 = protocolLevel(bytes, body, end) === 5;
  channel.version = channel.isV5 ? 5 : 4;
  if (!channel.isV5 && !isUnknownVersion) return;
  const { reasonCode } = error;
  channel.send({
    type: 'connack',
    sessionPresent: false,
    reasonCode: channel.isV5 ? reasonCode : connackCodeV3(reasonCode),
    properties: channel.isV5 ? { reasonString: error.message } : {},
  });
}

/** The level behind the name `MQTT`, if that much can be read. */
function protocolLevel(bytes: Buffer, body: number, end: number): number | undefined {
  const levelAt = body + 6;
  if (levelAt >= end || bytes.toString('latin1', body, levelAt) !== '\0\x04MQTT') return undefined;
  return bytes[levelAt];
}
