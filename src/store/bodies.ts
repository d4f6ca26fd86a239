// Messages that several sessions hold, each stored once. How many hold one is counted by whoever
// applies the batches: here only the changes are told. Law: a body is written in the same batch as
// all entries that refer to it, so neither is ever there without the other.

import type { Message, StoredBody } from '#core/message';
import type { Committer } from './committer.ts';
import { Table } from './table.ts';
import { numberKey, writeNumber } from './keys.ts';
import { messageBytes, readMessage, writeMessage } from './message-record.ts';
import type { Numbers } from './numbers.ts';
import { StoreDamaged } from './store-damaged.ts';

export class Bodies {
  readonly #journal: Committer;
  readonly #key: Buffer = numberKey(0);
  readonly #numbers: Numbers;
  /** Read before and still in use: sessions that come back together share one in memory too. */
  readonly #read = new Map<number, WeakRef<Message>>();
  #readMax = 1024;

  constructor(journal: Committer, numbers: Numbers) {
    this.#journal = journal;
    this.#numbers = numbers;
  }

  /**
   * One more session holds it. Undefined: it was written in another batch, which may have failed or may
   * still fail, and what was there may be gone; the caller has to write the message itself.
   */
  hold(message: Message): StoredBody | undefined {
    const { serial } = this.#journal;
    const body = (message.body ??= this.#write(message, serial));
    if (body.serial !== serial) return undefined;
    this.#journal.open.refer(Table.bodies, this.#keyOf(body.id), 1);
    return body;
  }

  #write(message: Message, serial: number): StoredBody {
    const id = this.#numbers.next();
    const batch = this.#journal.open;
    const at = batch.putRoom(Table.bodies, this.#keyOf(id), messageBytes(message));
    writeMessage(message, batch.bytes, at);
    return { id, serial };
  }

  /** One session less does. */
  letGo(id: number, isLasting: boolean): void {
    this.#journal.open.refer(Table.bodies, this.#keyOf(id), -1, isLasting);
  }

  read(id: number): Message {
    const known = this.#read.get(id)?.deref();
    if (known !== undefined) return known;
    const bytes = this.#journal.engine.get(Table.bodies, numberKey(id));
    if (bytes === undefined) {
      throw new StoreDamaged(`Cannot read message ${id}: a queue refers to it and it is not there`);
    }
    const message = readMessage(bytes);
    message.isShared = true;
    message.body = { id, serial: 0 };
    if (this.#read.size >= this.#readMax) this.#forgetUnused();
    this.#read.set(id, new WeakRef(message));
    return message;
  }

  #forgetUnused(): void {
    for (const [id, message] of this.#read) {
      if (message.deref() === undefined) this.#read.delete(id);
    }
    this.#readMax = Math.max(1024, this.#read.size * 2);
  }

  #keyOf(id: number): Buffer {
    writeNumber(this.#key, 0, id);
    return this.#key;
  }
}
