// AUTH: the next message of an exchange that CONNECT began, or the beginning of a new one by a client
// that is connected (re-authentication). A failed re-authentication ends the connection
// [MQTT-4.12.1-2]. Law: after one that succeeds the new verdict counts, and nothing of the old one.

import type { AuthPacket } from '#wire/packet';
import { ProtocolError } from '#wire/protocol-error';
import { isAllowedReason, Reason } from '#wire/reason-codes';
import type { AuthExchange } from './auth-exchange.ts';
import type { Channel } from './channel.ts';
import { credentialsOf } from './credentials.ts';
import { sendAuth, takeStep } from './enhanced-auth.ts';
import type { Wait } from './ports.ts';
import { recheckClient } from './recheck.ts';

export function onAuth(channel: Channel, packet: AuthPacket): Wait {
  const { reasonCode, properties } = packet;
  if (reasonCode === Reason.reAuthenticate) channel.auth = beginAgain(channel);
  else if (reasonCode !== Reason.continueAuthentication) {
    const text = `Cannot take AUTH with code ${reasonCode}: only a server says so`;
    throw new ProtocolError(Reason.protocolError, text);
  }
  const { auth } = channel;
  if (auth === undefined) {
    const text = 'Cannot take AUTH: no authentication is under way';
    throw new ProtocolError(Reason.protocolError, text);
  }
  if (properties.authMethod !== auth.method) {
    // [MQTT-4.12.0-5], [MQTT-4.12.1-1]
    const text = `Cannot authenticate by "${properties.authMethod}": it began by "${auth.method}"`;
    throw new ProtocolError(Reason.protocolError, text);
  }
  return takeStep(channel, properties.authData);
}

function beginAgain(channel: Channel): AuthExchange {
  const { authMethod, client, auth } = channel;
  if (channel.state !== 'open' || authMethod === undefined || client === undefined) {
    const text = 'Cannot authenticate again: CONNECT named no authentication method';
    throw new ProtocolError(Reason.protocolError, text);
  }
  if (auth !== undefined) {
    throw new ProtocolError(Reason.protocolError, 'Cannot authenticate again: it is under way');
  }
  return {
    method: authMethod,
    credentials: credentialsOf({ ...client, password: undefined }, channel),
    isReauthentication: true,
    exchange: {},
    settle: (outcome) => {
      channel.auth = undefined;
      if (!outcome.allow) {
        const text = outcome.text ?? 'Cannot go on: authentication failed';
        // Not every code that refuses a CONNECT may end a connection.
        const { reasonCode: code } = outcome;
        channel.closeFor(isAllowedReason('disconnect', code) ? code : Reason.notAuthorized, text);
        return undefined;
      }
      if (outcome.username !== undefined && outcome.username !== client.username) {
        // Session, subscriptions and will are those of the user that connected.
        const text = `Cannot go on as "${outcome.username}": another user connected`;
        channel.closeFor(Reason.notAuthorized, text);
        return undefined;
      }
      renewRights(channel, outcome.isSuperuser ?? false);
      sendAuth(channel, authMethod, Reason.success, outcome.data);
      return recheckClient(channel);
    },
  };
}

function renewRights(channel: Channel, isSuperuser: boolean): void {
  const { core, zone, publisher, will } = channel;
  // In place: the session and the will, which hold on to the client, are to see it too.
  (publisher as { isSuperuser: boolean }).isSuperuser = isSuperuser;
  channel.isControlled = zone.enableAcl && !isSuperuser;
  channel.rights = null;
  if (will !== undefined && zone.sessionDurability !== 'memory') {
    core.wills.keep(publisher.clientId, will);
  }
}
