// Tells which clients come and go in one worker, for those zones where whoever does so too often is banned;
// src/admin/flapping.ts counts. Laws: without such a zone no hook is set; one batch a turn, at most so long;
// what is not the client's doing does not count: a broker that stops or has banned it. Nor does who was not
// let in: otherwise whoever reaches the port could have the client ids of others banned.

import { Reason } from '#wire/reason-codes';
import type { Hooks } from '#hooks/runner';
import type { ClientInfo } from '#hooks/table';

/** A client has connected or disconnected. */
export interface FlappingEvent {
  readonly clientId: string;
  readonly zone: string;
}

const owner = 'flapping';
const batchMax = 1000;

const brokersOwnEnds: ReadonlySet<string> = new Set(['banned', 'shutdown']);

export class FlappingWatch {
  readonly #hooks: Hooks;
  readonly #send: (events: readonly FlappingEvent[]) => void;
  #zones: ReadonlySet<string> = new Set();
  #events: FlappingEvent[] = [];
  #flushing: NodeJS.Immediate | undefined;

  constructor(hooks: Hooks, send: (events: readonly FlappingEvent[]) => void) {
    this.#hooks = hooks;
    this.#send = send;
  }

  /** In place of those before. */
  set(zones: readonly string[]): void {
    this.#hooks.off(owner);
    this.#zones = new Set(zones);
    if (zones.length === 0) return;
    this.#hooks.on('client.connected', owner, (client, reasonCode) => {
      if (reasonCode === Reason.success) this.#note(client);
    });
    this.#hooks.on('client.disconnected', owner, (client, reason) => {
      if (!brokersOwnEnds.has(reason)) this.#note(client);
    });
  }

  #note({ clientId, zone }: ClientInfo): void {
    if (!this.#zones.has(zone)) return;
    this.#events.push({ clientId, zone });
    if (this.#events.length >= batchMax) this.#flush();
    else this.#flushing ??= setImmediate(() => this.#flush());
  }

  #flush(): void {
    clearImmediate(this.#flushing);
    this.#flushing = undefined;
    const events = this.#events;
    this.#events = [];
    this.#send(events);
  }
}
