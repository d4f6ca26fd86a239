// Messages of shared subscriptions that a leaving member here never finished and a member in another
// worker is to have. They were acknowledged long ago, and the two workers write separately: so what is
// taken from the one is kept here, in the same batch, until the other has it. What a crash leaves is
// handed on by the next one to start.

import type { Message } from '#core/message';
import type { RecordStore } from '#core/store-port';
import { packMessage, unpackMessage } from './packed-baggage.ts';

interface Kept {
  readonly group: string;
  readonly filter: string;
  readonly message: string;
}

export interface Keeping {
  /** The other worker has it. */
  readonly forget: () => void;
}

interface Left extends Keeping {
  readonly message: Message;
  readonly group: string;
  readonly filter: string;
}

export class HandedOn {
  readonly #records: RecordStore;
  readonly #index: number;
  #next = 0;

  /** `records` are those of all workers; the keys of one begin with its index. */
  constructor(records: RecordStore, index: number) {
    this.#records = records;
    this.#index = index;
  }

  keep(message: Message, group: string, filter: string): Keeping {
    const key = `${this.#index}.${Date.now()}.${this.#next++}`;
    const kept: Kept = { group, filter, message: packMessage(message) };
    this.#records.put(key, kept);
    return { forget: () => this.#records.delete(key) };
  }

  /** What was left by the workers that `isOurs` names. */
  *left(isOurs: (index: number) => boolean): Generator<Left> {
    for (const [key, value] of [...this.#records.entries()]) {
      if (!isOurs(Number.parseInt(key, 10))) continue;
      const { group, filter, message } = value as Kept;
      const forget = (): void => this.#records.delete(key);
      yield { message: unpackMessage(message), group, filter, forget };
    }
  }
}
