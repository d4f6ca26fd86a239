// A CONNECT under way: what the stages of on-connect.ts find out, until there is a session or a
// refusal. Also how a refusal is told, by protocol version.

import type { ConnectPacket, Properties } from '#wire/packet';
import { connackCodeV3, reasonWord } from '#wire/reason-codes';
import type { ClientGrant, ClientInfo, Credentials, ProvenName } from '#hooks/table';
import type { Channel } from './channel.ts';
import { credentialsOf } from './credentials.ts';
import type { Staged } from './stages.ts';

export class ConnectAttempt implements Staged {
  readonly channel: Channel;
  readonly packet: ConnectPacket;
  clientId: string;
  username: string | undefined;
  /** We made the client id up; an MQTT 5 client is told. */
  isAssigned = false;
  /** The username stands in a certificate that TLS has verified. */
  isCertified = false;
  isSuperuser = false;
  isAnonymous = false;
  mountpoint: string;
  expiresAtMs: number | undefined;
  grant: ClientGrant | undefined;
  /** The last word of an enhanced authentication, for the CONNACK. */
  authData: Buffer | undefined;
  /** The other workers were asked for the client id. */
  hasClaimed = false;
  #isSettled = false;

  constructor(channel: Channel, packet: ConnectPacket) {
    this.channel = channel;
    this.packet = packet;
    this.clientId = packet.clientId;
    this.username = packet.username;
    this.mountpoint = channel.zone.mountpoint ?? '';
  }

  get isDone(): boolean {
    return this.#isSettled || this.channel.isClosed;
  }

  /** The stages end here; `reopen` lets them go on, after an exchange of AUTH packets. */
  settle(): void {
    this.#isSettled = true;
  }

  reopen(): void {
    this.#isSettled = false;
  }

  keep(): void {}

  /** Authentication has found out who it is: not known yet when `identify` looked for a name. */
  adopt(name: ProvenName): void {
    this.username = name ?? undefined;
    if (!this.channel.zone.useUsernameAsClientId) return;
    this.clientId = this.username ?? this.packet.clientId;
  }

  /** Undefined for a client that was let in without a check. */
  get provenUsername(): string | undefined {
    return this.isAnonymous && !this.isCertified ? undefined : this.username;
  }

  get credentials(): Credentials {
    const { clientId, username } = this;
    const { password, version } = this.packet;
    return credentialsOf({ clientId, username, password, version }, this.channel);
  }

  /** The client as hooks will see it. */
  clientInfo(): ClientInfo {
    const { packet, channel } = this;
    const { peer } = channel.transport;
    return {
      clientId: this.clientId,
      username: this.username,
      address: peer.address,
      port: peer.port,
      zone: channel.zone.name,
      listener: channel.listener.protocol,
      version: packet.version,
      protocolName: packet.version === 3 ? 'MQIsdp' : 'MQTT',
      isBridge: packet.isBridge,
      cleanStart: packet.cleanStart,
      keepaliveSeconds: channel.keepaliveSeconds,
      mountpoint: this.mountpoint,
      isSuperuser: this.isSuperuser,
      isAnonymous: this.isAnonymous,
      connectedAtMs: channel.core.timers.nowMs,
      localAddress: peer.localAddress,
      localPort: peer.localPort,
      commonName: peer.tls?.commonName,
      distinguishedName: peer.tls?.distinguishedName,
      expiresAtMs: this.expiresAtMs,
      grant: this.grant,
    };
  }

  /** CONNACK with a code, then the end [MQTT-3.1.4-2], [MQTT-3.2.2-7]. */
  refuse(code: number, text: string, properties: Properties = {}): void {
    this.settle();
    const { channel } = this;
    const { core } = channel;
    const word = reasonWord(code);
    core.log.info('connect.refused', {
      clientId: this.clientId,
      username: this.username,
      peer: channel.transport.peer.address,
      reason: word,
      text,
    });
    channel.send({
      type: 'connack',
      sessionPresent: false, // [MQTT-3.2.2-6]
      reasonCode: channel.isV5 ? code : connackCodeV3(code),
      properties: { ...channel.problem(text), ...properties },
    });
    core.hooks.tell('client.connected', this.clientInfo(), code);
    channel.close(word);
  }
}
