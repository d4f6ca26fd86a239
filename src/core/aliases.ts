// Topic aliases of one MQTT 5 connection, one table per direction. Inbound: the client names topics,
// up to what we announced. Outbound: we give the first topics that are sent an alias, up to what the
// client announced; an alias counts as given only when the packet that tells it was taken.

import { ProtocolError } from '#wire/protocol-error';
import { Reason } from '#wire/reason-codes';
import type { Route } from './router.ts';

/** Of all topics that one client may have us remember. */
const inboundBytesMax = 1024 * 1024;

export class InboundAliases {
  readonly #routes = new Map<number, Route>();
  readonly #max: number;
  #bytes = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** [MQTT-3.3.2-8], [MQTT-3.3.2-9] */
  set(alias: number, route: Route): void {
    this.#check(alias);
    this.#bytes += route.bytes.length - (this.#routes.get(alias)?.bytes.length ?? 0);
    if (this.#bytes > inboundBytesMax) {
      const text = `Cannot remember topic alias ${alias}: all topics have over ${inboundBytesMax} bytes`;
      throw new ProtocolError(Reason.quotaExceeded, text);
    }
    this.#routes.set(alias, route);
  }

  get(alias: number): Route {
    this.#check(alias);
    const route = this.#routes.get(alias);
    if (route === undefined) {
      throw new ProtocolError(
        Reason.protocolError,
        `Cannot use topic alias ${alias}: it names no topic yet`,
      );
    }
    return route;
  }

  #check(alias: number): void {
    if (alias > this.#max) {
      throw new ProtocolError(
        Reason.topicAliasInvalid,
        `Cannot use topic alias ${alias}: the highest allowed is ${this.#max}`,
      );
    }
  }
}

/** Keeping more per client costs more memory than the bytes it saves on the wire. */
const outboundMax = 256;

export class OutboundAliases {
  readonly #byTopic = new Map<string, number>();
  readonly #max: number;

  constructor(clientMax: number) {
    this.#max = Math.min(clientMax, outboundMax);
  }

  /** The alias that already stands for the topic. */
  known(topic: string): number | undefined {
    return this.#byTopic.get(topic);
  }

  /** The alias that the next packet may introduce. */
  free(): number | undefined {
    return this.#byTopic.size < this.#max ? this.#byTopic.size + 1 : undefined;
  }

  given(topic: string, alias: number): void {
    this.#byTopic.set(topic, alias);
  }
}
