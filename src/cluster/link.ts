// One worker's end of the way to another: gathers what it has for it in a loop turn and sends it as one
// piece of memory, which the other sends back when everything in it has been handled. Laws: what was
// said first arrives first; memory that comes back says that its batch was handled, and frees as much
// room; above the bound the link is congested, and whoever publishes over it has to pause.

import type { MessagePort } from 'node:worker_threads';
import { Deque } from '#base/deque';
import { LinkBatch, spareBytesMax } from './link-batch.ts';

/** Bytes sent and not handled over there; it is congested above the one and free again below the other. */
const congestedBytes = 8 * 1024 * 1024;
const freeBytes = 4 * 1024 * 1024;
const sparesMax = 8;

/** What goes over the port: a batch, and the memory of batches that were handled. */
interface Parcel {
  readonly batch: ArrayBuffer | undefined;
  readonly length: number;
  readonly back: readonly ArrayBuffer[];
}

interface Sent {
  readonly length: number;
  /** Made for whoever wants to know. */
  handled: PromiseWithResolvers<void> | undefined;
}

export interface LinkOwner {
  /** `bytes` are the owner's only until this returns. */
  onBatch(bytes: Buffer, length: number): void;
  onCongestion(isCongested: boolean): void;
  /** Something of ours threw: it is nobody else's affair. */
  onFault(error: unknown): void;
}

export class Link {
  readonly #port: MessagePort;
  readonly #owner: LinkOwner;
  #open: LinkBatch | undefined;
  #handled: PromiseWithResolvers<void> | undefined;
  #back: ArrayBuffer[] = [];
  readonly #spares: ArrayBuffer[] = [];
  readonly #sent = new Deque<Sent>();
  #outstanding = 0;
  #isScheduled = false;
  #isClosed = false;
  isCongested = false;

  constructor(port: MessagePort, owner: LinkOwner) {
    this.#port = port;
    this.#owner = owner;
    port.on('message', (parcel: Parcel) => this.#receive(parcel));
  }

  /** Where to write what is to be said in this turn. */
  get batch(): LinkBatch {
    if (!this.#isScheduled) this.#schedule();
    return (this.#open ??= new LinkBatch(this.#spares.pop()));
  }

  /** What was said so far, in this turn and before, has been handled; or the other end is gone. */
  handled(): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    if (this.#open !== undefined) return (this.#handled ??= Promise.withResolvers<void>()).promise;
    const last = this.#sent.length === 0 ? undefined : this.#sent.at(this.#sent.length - 1);
    if (last === undefined) return Promise.resolve();
    return (last.handled ??= Promise.withResolvers<void>()).promise;
  }

  /** Sends what has been gathered, before the end of the turn. */
  flush(): void {
    this.#isScheduled = false;
    if (this.#isClosed) return;
    const batch = this.#open;
    const back = this.#back;
    if (batch === undefined && back.length === 0) return;
    this.#open = undefined;
    this.#back = [];
    const memory = batch?.bytes.buffer as ArrayBuffer | undefined;
    const parcel: Parcel = { batch: memory, length: batch?.length ?? 0, back };
    if (batch !== undefined) {
      this.#sent.push({ length: batch.length, handled: this.#handled });
      this.#handled = undefined;
      this.#outstanding += batch.length;
      this.#look();
    }
    this.#port.postMessage(parcel, memory === undefined ? [...back] : [memory, ...back]);
  }

  /** Nobody is at the other end any more. Whoever waits for something to be handled need not. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#port.close();
    this.#handled?.resolve();
    for (const { handled } of this.#sent) handled?.resolve();
    this.#sent.clear();
    this.#outstanding = 0;
    this.#look();
  }

  readonly #flushNow = (): void => this.flush();

  #schedule(): void {
    this.#isScheduled = true;
    setImmediate(this.#flushNow);
  }

  #receive({ batch, length, back }: Parcel): void {
    if (this.#isClosed) return;
    for (const memory of back) this.#takeBack(memory);
    if (batch === undefined) return;
    try {
      this.#owner.onBatch(Buffer.from(batch), length);
    } catch (error) {
      this.#owner.onFault(error);
    }
    if (this.#isClosed) return;
    this.#back.push(batch);
    if (!this.#isScheduled) this.#schedule();
  }

  #takeBack(memory: ArrayBuffer): void {
    const isKept = this.#spares.length < sparesMax && memory.byteLength <= spareBytesMax;
    if (isKept) this.#spares.push(memory);
    const sent = this.#sent.shift();
    if (sent === undefined) return;
    this.#outstanding -= sent.length;
    sent.handled?.resolve();
    this.#look();
  }

  #look(): void {
    const isCongested = this.#outstanding > (this.isCongested ? freeBytes : congestedBytes);
    if (isCongested === this.isCongested) return;
    this.isCongested = isCongested;
    this.#owner.onCongestion(isCongested);
  }
}
