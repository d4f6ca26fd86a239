// A transport without a network, for clients that do not read: it takes nothing until it is released
// and remembers what it was given, so that a test needs no kernel buffers to be full.

import { encodePacket } from '#wire/encode';
import type { Packet, ProtocolVersion } from '#wire/packet';
import type { Broker } from '#core/broker';
import type { ListenerFace, PeerInfo, Transport, TransportSink } from '#core/ports';

const face: ListenerFace = {
  protocol: 'mqtt:tcp',
  name: 'external',
  zone: 'external',
  peerCertAsUsername: undefined,
  ended: () => undefined,
};

export class HeldTransport implements Transport {
  readonly peer: PeerInfo = {
    address: '127.0.0.1',
    port: 1,
    localAddress: '127.0.0.1',
    localPort: 2,
  };
  readonly counters = { receivedBytes: 0, receivedReads: 0, sentBytes: 0, sentWrites: 0 };
  isPaused = false;
  isHolding = false;
  isClosed = false;
  readonly #version: ProtocolVersion;
  readonly #sink: TransportSink;
  #holdsBytes = false;

  constructor(broker: Broker, version: ProtocolVersion = 5) {
    this.#version = version;
    this.#sink = broker.accept(this, face);
  }

  /** The client sends, and is read whether the broker has asked for it or not. */
  send(packet: Packet | Buffer): void {
    const bytes = Buffer.isBuffer(packet) ? packet : encodePacket(packet, this.#version);
    this.#sink.receive(bytes, 0, bytes.length);
  }

  connect(clientId: string, keepaliveSeconds = 0): void {
    this.send({
      type: 'connect',
      version: this.#version,
      isBridge: false,
      cleanStart: true,
      keepaliveSeconds,
      clientId,
      properties: {},
    });
  }

  write(bytes: Uint8Array): boolean {
    return this.writeAll([bytes]);
  }

  writeAll(pieces: readonly Uint8Array[]): boolean {
    for (const piece of pieces) this.counters.sentBytes += piece.length;
    this.#holdsBytes = this.isHolding;
    return !this.isHolding;
  }

  /** The client has read what it was sent, and reads on. */
  release(): void {
    this.isHolding = false;
    if (!this.#holdsBytes) return;
    this.#holdsBytes = false;
    this.#sink.drained();
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
  }

  end(): void {
    this.destroy();
  }

  destroy(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.#sink.closed('closed');
  }
}
