// CONNECT: who is it, may it come in, and which session is its own. The stages stand below in order;
// the first that refuses has the last word. Law: the CONNACK is the first packet a client is sent,
// and nothing of another client's session is touched before authentication has said yes.

import { isUtf8 } from 'node:buffer';
import { describeError } from '#base/errors';
import { randomClientId } from '#base/ids';
import { TokenBucket } from '#base/token-bucket';
import type { ConnectPacket } from '#wire/packet';
import { Reason } from '#wire/reason-codes';
import { levelCount, mountpointFor, topicNameFault } from '#topics/topic';
import type { AuthVerdict } from '#hooks/table';
import { askAccess } from './access.ts';
import { OutboundAliases } from './aliases.ts';
import { anyPacketBytes, type Channel } from './channel.ts';
import { ConnectAttempt } from './connect-attempt.ts';
import { connackProperties } from './connack-properties.ts';
import { beginEnhancedAuth } from './enhanced-auth.ts';
import { Metric } from './metrics.ts';
import type { Wait } from './ports.ts';
import { recheckSession } from './recheck.ts';
import { refuseBanned } from './refuse-banned.ts';
import { expiryOf } from './session-expiry.ts';
import { runStages, type Stage } from './stages.ts';
import { willOf } from './will-of.ts';

/** A CONNECT, in the order things happen to it. Add a stage here or nowhere. */
const connectStages: readonly Stage<ConnectAttempt>[] = [
  agreeOnProtocol,
  identify,
  refuseBanned,
  checkCapacity,
  authenticate,
  refuseBanned,
  assignClientId,
  settleClient,
  checkWill,
  claimClientId,
  discardFormer,
  refuseBanned,
  recheckSession,
  openSession,
];

const windowMax = 0xffff;

export function onConnect(channel: Channel, packet: ConnectPacket): Wait {
  return run(new ConnectAttempt(channel, packet), 0);
}

/** Whatever becomes of an attempt, its claim to the client id is settled when it is over. */
function run(attempt: ConnectAttempt, from: number): Wait {
  let wait: Wait;
  try {
    wait = runStages(connectStages, attempt, from);
  } finally {
    if (wait === undefined) settleClaim(attempt);
  }
  return wait?.finally(() => settleClaim(attempt));
}

function settleClaim(attempt: ConnectAttempt): void {
  if (attempt.hasClaimed) attempt.channel.core.peers.attempted(attempt.clientId);
  attempt.hasClaimed = false;
}

/** Goes on behind `authenticate`, once an enhanced authentication has succeeded. */
function resumeConnect(attempt: ConnectAttempt): Wait {
  attempt.reopen();
  const wait = run(attempt, connectStages.indexOf(authenticate) + 1);
  // A hook that needs no second word answers within `authenticate`: the stages that led there end there.
  if (wait === undefined) attempt.settle();
  return wait?.then(() => attempt.settle());
}

function agreeOnProtocol({ channel, packet }: ConnectAttempt): undefined {
  const { properties } = packet;
  channel.version = packet.version;
  channel.isV5 = packet.version === 5;
  // An earlier version has no words for it: whoever speaks that is served, and nothing is kept.
  if (channel.isV5) channel.zone = channel.core.retained.offeredBy(channel.zone);
  channel.isBridge = packet.isBridge;
  channel.wantsProblemInfo = properties.requestProblemInfo ?? true;
  channel.packetBytesMax = properties.maximumPacketSize ?? anyPacketBytes;
  if ((properties.topicAliasMaximum ?? 0) > 0) {
    channel.aliases = new OutboundAliases(properties.topicAliasMaximum as number);
  }
  const { serverKeepaliveSeconds: cap } = channel.zone;
  const asked = packet.keepaliveSeconds;
  const isCapped = channel.isV5 && cap !== undefined && (asked === 0 || asked > cap);
  channel.keepaliveSeconds = isCapped ? cap : asked; // [MQTT-3.2.2-21]
}

function identify(attempt: ConnectAttempt): undefined {
  const { channel, packet } = attempt;
  const { zone, listener, transport } = channel;
  const { tls } = transport.peer;
  const proven = { cn: tls?.commonName, dn: tls?.distinguishedName, crt: tls?.certificate };
  if (listener.peerCertAsUsername !== undefined) {
    const certified = proven[listener.peerCertAsUsername];
    attempt.username = certified ?? attempt.username;
    attempt.isCertified = certified !== undefined;
  }
  if (zone.useUsernameAsClientId && attempt.username !== undefined) {
    attempt.clientId = attempt.username;
  }
  const { clientId } = attempt;
  if (clientId === '' && packet.version < 5 && (packet.version === 3 || !packet.cleanStart)) {
    // [v3 MQTT-3.1.3-8]
    attempt.refuse(Reason.clientIdentifierNotValid, 'Cannot connect without a client id');
  }
}

function checkCapacity(attempt: ConnectAttempt): undefined {
  const { core } = attempt.channel;
  if (core.flusher.pressure.isRefusing) {
    core.metrics.add(Metric.overloadRefused);
    attempt.refuse(Reason.serverBusy, 'Cannot connect: the broker is overloaded, try again later');
    return;
  }
  const { maxClients } = core.settings.node;
  if (core.stats.count('connections') < maxClients) return;
  attempt.refuse(
    Reason.quotaExceeded,
    `Cannot connect: the limit of ${maxClients} clients is reached`,
  );
}

function authenticate(attempt: ConnectAttempt): Wait {
  const { channel, packet } = attempt;
  if (packet.properties.authMethod !== undefined) {
    return beginEnhancedAuth(attempt, resumeConnect);
  }
  const denial: AuthVerdict = {
    allow: false,
    reasonCode: Reason.serverUnavailable,
    text: 'Cannot authenticate: the authentication service failed',
  };
  const verdict = channel.core.hooks.ask('client.authenticate', denial, attempt.credentials);
  if (verdict instanceof Promise) return verdict.then((late) => judge(attempt, late));
  judge(attempt, verdict);
  return undefined;
}

function judge(attempt: ConnectAttempt, verdict: AuthVerdict | 'ignore'): void {
  if (verdict !== 'ignore' && verdict.username !== undefined) attempt.adopt(verdict.username);
  if (verdict === 'ignore') {
    attempt.isAnonymous = true;
    if (!attempt.channel.zone.allowAnonymous) {
      attempt.refuse(
        Reason.notAuthorized,
        'Cannot connect: anonymous clients are not allowed, and nobody vouched for this one',
      );
    }
  } else if (!verdict.allow) {
    attempt.refuse(verdict.reasonCode, verdict.text ?? 'Cannot connect: authentication failed');
  } else {
    attempt.isSuperuser = verdict.isSuperuser ?? false;
    attempt.mountpoint = verdict.mountpoint ?? attempt.mountpoint;
    attempt.expiresAtMs = verdict.expiresAtMs;
    attempt.grant = verdict.grant;
  }
}

/** Only now is the id final: authentication may have found out who the client is. */
function assignClientId(attempt: ConnectAttempt): undefined {
  const { maxClientIdBytes } = attempt.channel.zone;
  if (attempt.clientId === '') {
    attempt.clientId = randomClientId(); // [MQTT-3.1.3-6]
    attempt.isAssigned = true;
  } else if (Buffer.byteLength(attempt.clientId) > maxClientIdBytes) {
    const text = `Cannot accept the client id: it has more than ${maxClientIdBytes} bytes`;
    attempt.refuse(Reason.clientIdentifierNotValid, text);
  }
}

/** Everything about the client is known now. */
function settleClient(attempt: ConnectAttempt): undefined {
  const { channel, clientId, username } = attempt;
  const { zone } = channel;
  const mountpoint =
    attempt.mountpoint === '' ? '' : mountpointFor(attempt.mountpoint, clientId, username);
  if (mountpoint === undefined) {
    const text = 'Cannot build the mountpoint: client id or username has characters of filters';
    attempt.refuse(Reason.clientIdentifierNotValid, text);
    return;
  }
  attempt.mountpoint = mountpoint;
  channel.mountpoint = mountpoint;
  channel.client = attempt.clientInfo();
  const isRaw =
    mountpoint === '' &&
    channel.aliases === null &&
    channel.packetBytesMax === anyPacketBytes &&
    !zone.upgradeQos;
  channel.rawVersion = isRaw ? (channel.isV5 ? 5 : 4) : 0;
  channel.isExpress =
    mountpoint === '' && zone.publishLimit === undefined && zone.maxTopicLevels === 0;
  channel.isControlled = zone.enableAcl && !attempt.isSuperuser;
  channel.isUnchecked =
    channel.isExpress &&
    zone.maxQosAllowed > 0 &&
    zone.retainAvailable &&
    zone.receiveMaximum === undefined;
  if (zone.publishLimit !== undefined) {
    const { count, perMs } = zone.publishLimit;
    const nowMs = channel.core.clock.monotonicMs();
    channel.pace = new TokenBucket((count * 1000) / perMs, count, nowMs);
  }
}

/** A will that could not be published later, for want of rights or by its form, is refused now. */
function checkWill(attempt: ConnectAttempt): Wait {
  const { channel, packet } = attempt;
  const { will } = packet;
  if (will === undefined) return undefined;
  const { zone } = channel;
  const fault = topicNameFault(will.topic) ?? topicNameFault(channel.mountpoint + will.topic);
  if (fault !== undefined) {
    attempt.refuse(Reason.topicNameInvalid, `Cannot accept the will topic: ${fault}`);
  } else if (zone.maxTopicLevels > 0 && levelCount(will.topic) > zone.maxTopicLevels) {
    attempt.refuse(Reason.topicNameInvalid, 'Cannot accept the will topic: too many levels');
  } else if (will.qos > zone.maxQosAllowed) {
    attempt.refuse(Reason.qosNotSupported, `Cannot accept a will of QoS ${will.qos}`); // [MQTT-3.2.2-12]
  } else if (will.retain && !zone.retainAvailable) {
    attempt.refuse(Reason.retainNotSupported, 'Cannot accept a retained will'); // [MQTT-3.2.2-13]
  } else if (topicNameFault(will.properties.responseTopic ?? 'none') !== undefined) {
    attempt.refuse(
      Reason.protocolError,
      'Cannot accept the will: its response topic is no topic name',
    );
  } else if (will.properties.payloadFormat === 1 && !isUtf8(will.payload)) {
    attempt.refuse(Reason.payloadFormatInvalid, 'Cannot accept the will: its payload is not UTF-8');
  } else {
    return askWillRights(attempt, will.topic);
  }
  return undefined;
}

function askWillRights(attempt: ConnectAttempt, topic: string): Wait {
  const settle = (isAllowed: boolean): void => {
    if (isAllowed) return;
    attempt.refuse(Reason.notAuthorized, `Cannot accept a will for "${topic}": not authorized`);
  };
  const allowed = askAccess(attempt.channel, 'publish', topic);
  if (allowed instanceof Promise) return allowed.then(settle);
  settle(allowed);
  return undefined;
}

function claimClientId(attempt: ConnectAttempt): Wait {
  const { channel, packet, clientId, provenUsername } = attempt;
  const { peers, log } = channel.core;
  const { mountpoint } = channel;
  attempt.hasClaimed = true;
  const request = { clientId, cleanStart: packet.cleanStart, provenUsername, mountpoint };
  return peers.claim(request)?.catch((error: unknown) => {
    log.warn('connect.unclaimed', { clientId, error: describeError(error) });
    if (attempt.isDone) return;
    attempt.refuse(Reason.serverUnavailable, 'Cannot connect: the session cannot be reached now');
  });
}

/**
 * [MQTT-3.1.2-4] A clean start ends the session there is, on disk too: a CONNACK that came before that
 * could be followed by a crash, and the old session be back. A disk that refuses does not keep anybody out.
 */
function discardFormer({ channel, packet, clientId }: ConnectAttempt): Wait {
  if (!packet.cleanStart) return undefined;
  return channel.core.sessions.discard(clientId)?.catch(() => {});
}

function openSession(attempt: ConnectAttempt): undefined {
  const { channel, packet, clientId, username } = attempt;
  const { core, zone } = channel;
  if (!core.peers.owns(clientId)) {
    attempt.refuse(Reason.serverBusy, 'Cannot connect: the client id was claimed elsewhere');
    return;
  }
  const expirySeconds = channel.isV5
    ? expiryOf(packet.properties.sessionExpirySeconds ?? 0)
    : packet.cleanStart
      ? 0
      : zone.sessionExpirySeconds;
  const { cleanStart } = packet;
  const { session, isPresent } = core.sessions.open({
    clientId,
    username,
    provenUsername: attempt.provenUsername,
    mountpoint: channel.mountpoint,
    zone,
    cleanStart,
    expirySeconds,
  });
  channel.session = session;
  channel.open();
  channel.authMethod = packet.properties.authMethod;
  if (packet.will !== undefined) {
    channel.will = willOf(channel, packet.will, expirySeconds);
    if (zone.sessionDurability !== 'memory') core.wills.keep(clientId, channel.will);
  }
  core.stats.move('connections', 1);
  const { maxInflight } = zone;
  const windowV3 = maxInflight === 0 ? windowMax : maxInflight;
  const window = channel.isV5 ? (packet.properties.receiveMaximum ?? windowMax) : windowV3;
  session.attach(channel, channel.publisher, window);
  if (isPresent && !core.peers.isAlone) core.subscriptions.connectionChanged(session);
  const isTold = channel.send({
    type: 'connack',
    sessionPresent: isPresent && packet.version > 3,
    reasonCode: Reason.success,
    properties: channel.isV5 ? connackProperties(attempt) : {},
  });
  if (!isTold) {
    // A client that takes no CONNACK would wait for it for ever.
    channel.close('packet_too_large');
    return;
  }
  core.log.debug('client.connected', {
    clientId,
    username,
    peer: channel.publisher.address,
    version: packet.version,
    sessionPresent: isPresent,
  });
  core.hooks.tell(isPresent ? 'session.resumed' : 'session.created', channel.publisher);
  if (channel.isClosed) return; // by a hook
  core.hooks.tell('client.connected', channel.publisher, Reason.success);
  session.out.pump();
}
