// Something that happened in this worker, as a hook or a watcher tells it: what the columns of an event are
// read from. Laws: nothing is computed before some rule asks for it; the payload is decoded at most once
// and parsed at most once, whatever number of rules and events look at it.

import type { ClientInfo, MessageView } from '#hooks/table';
import type { QoS, SubscribeFilter } from '#wire/packet';
import { jsonOrMissing } from './eval/json.ts';
import { textOrBytes, type Value } from './eval/value.ts';

/** What else a hook is told; which of them is there depends on the event. */
export interface HappeningDetail {
  /** Of the copy that a client was sent. */
  readonly qos?: QoS;
  /** Why a message was dropped, or a client is gone. */
  readonly reason?: string;
  /** Of MQTT 5. */
  readonly reasonCode?: number;
  /** Whom a message was dropped for. */
  readonly receiver?: string | undefined;
  readonly filters?: readonly FilterWish[];
  readonly subscription?: SubscribeFilter & { readonly isNew: boolean };
  /** That a session is no longer subscribed to. */
  readonly filter?: string;
}

/** One of what a client wants to subscribe to, or to leave. */
export type FilterWish = Pick<SubscribeFilter, 'filter'> & Partial<SubscribeFilter>;

const nothing: HappeningDetail = {};
const unread: unique symbol = Symbol('unread');

export class Happening {
  readonly nodeName: string;
  readonly atMs: number;
  readonly message: MessageView | undefined;
  readonly client: ClientInfo | undefined;
  readonly detail: HappeningDetail;
  #payload: Value | typeof unread = unread;
  #json: Value | typeof unread = unread;

  constructor(
    nodeName: string,
    atMs: number,
    message: MessageView | undefined,
    client: ClientInfo | undefined,
    detail: HappeningDetail = nothing,
  ) {
    this.nodeName = nodeName;
    this.atMs = atMs;
    this.message = message;
    this.client = client;
    this.detail = detail;
  }

  /** Text; bytes where they are no UTF-8, so that whoever passes them on loses nothing. */
  get payload(): Value {
    if (this.#payload === unread) {
      const { message } = this;
      // A copy: the bytes of a message belong to the message.
      this.#payload = message === undefined ? undefined : owned(textOrBytes(message.payload));
    }
    return this.#payload;
  }

  get json(): Value {
    if (this.#json === unread) {
      const { payload } = this;
      this.#json = typeof payload === 'string' ? jsonOrMissing(payload) : undefined;
    }
    return this.#json;
  }

  /** How many rules have published the message, one after the other. */
  get hops(): number {
    return this.message?.hops ?? 0;
  }
}

function owned(payload: string | Buffer): Value {
  return typeof payload === 'string' ? payload : Buffer.from(payload);
}
