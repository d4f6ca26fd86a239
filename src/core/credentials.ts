// What a client shows to those who decide whether it may come in: its own words and what the
// connection knows of it.

import type { ProtocolVersion } from '#wire/packet';
import type { Credentials } from '#hooks/table';
import type { ListenerFace, Transport } from './ports.ts';

export interface Shown {
  readonly clientId: string;
  readonly username: string | undefined;
  readonly password: Buffer | undefined;
  readonly version: ProtocolVersion;
}

export function credentialsOf(
  shown: Shown,
  { transport, listener }: { readonly transport: Transport; readonly listener: ListenerFace },
): Credentials {
  const { peer } = transport;
  return {
    clientId: shown.clientId,
    username: shown.username,
    password: shown.password,
    version: shown.version,
    address: peer.address,
    port: peer.port,
    localPort: peer.localPort,
    zone: listener.zone,
    listener: listener.protocol,
    wsCookie: peer.wsCookie,
    commonName: peer.tls?.commonName,
    distinguishedName: peer.tls?.distinguishedName,
  };
}
