// Who is at the other end: what the socket says, then what a PROXY header, a certificate or the
// headers of a WebSocket upgrade add to it. Law: IPv4-mapped IPv6 addresses are written as IPv4.

import type { Socket } from 'node:net';
import type { PeerInfo, PeerTls } from '#core/ports';
import type { ProxyHeader } from './proxy-protocol.ts';
import type { UpgradeFacts } from './websocket.ts';

export function peerOf(socket: Socket): PeerInfo {
  return {
    address: plainAddress(socket.remoteAddress ?? ''),
    port: socket.remotePort ?? 0,
    localAddress: sharedAddress(plainAddress(socket.localAddress ?? '')),
    localPort: socket.localPort ?? 0,
  };
}

export function peerToldByProxy(peer: PeerInfo, header: ProxyHeader): PeerInfo {
  const { source, destination, commonName } = header;
  return {
    address: plainAddress(source?.address ?? peer.address),
    port: source?.port ?? peer.port,
    localAddress: plainAddress(destination?.address ?? peer.localAddress),
    localPort: destination?.port ?? peer.localPort,
    ...(commonName === undefined ? {} : { tls: { commonName } }),
  };
}

/** The client's own handshake with us says more than a proxy; the proxy's name fills the gap. */
export function peerWithTls(peer: PeerInfo, tls: PeerTls): PeerInfo {
  return { ...peer, tls: { ...tls, commonName: tls.commonName ?? peer.tls?.commonName } };
}

export function peerToldByHttp(peer: PeerInfo, facts: UpgradeFacts): PeerInfo {
  return {
    ...peer,
    address: facts.address === undefined ? peer.address : plainAddress(facts.address),
    port: facts.port ?? peer.port,
    wsCookie: facts.cookie,
  };
}

function plainAddress(address: string): string {
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address;
}

// Nearly all connections of a thread share their local address: one string serves them all.
let lastLocal = '';

function sharedAddress(address: string): string {
  if (address !== lastLocal) lastLocal = address;
  return lastLocal;
}
