// A store of retained messages for tests: on any engine, with a journal that a test settles by hand.

import { Message, type Publisher } from '#core/message';
import type { Engine } from './engine.ts';
import { HandJournal } from './journal-fixture.ts';
import { RetainedTable } from './retained-store.ts';

export const publisher: Publisher = { clientId: 'p', username: 'u', address: '::1', port: 1 };

export function retainedMessage(topic: string, payload: string): Message {
  return new Message(topic, Buffer.from(payload), 1, true, undefined, publisher, 1000);
}

export interface Bench {
  readonly journal: HandJournal;
  readonly retained: RetainedTable;
  readonly put: (topic: string, payload: string) => void;
  /** Topic and payload of everything a filter finds, a slice of so many names at a time. */
  readonly found: (filter: string, namesMax?: number) => string[];
}

/** Without a journal of its own: as the next process finds the engine. */
export function benchOn(engine: Engine, journal: HandJournal = new HandJournal(engine)): Bench {
  const retained = new RetainedTable(journal, (error) => {
    throw error;
  });
  return {
    journal,
    retained,
    put: (topic, payload) => {
      retained.put(retainedMessage(topic, payload), Number.POSITIVE_INFINITY);
    },
    found: (filter, namesMax = 1000) => {
      const all: string[] = [];
      let from: string | undefined = '';
      do {
        from = retained.slice(filter, from, namesMax, ({ topic, payload }) => {
          all.push(`${topic}=${payload.toString()}`);
          return true;
        });
      } while (from !== undefined);
      return all;
    },
  };
}

/** What `retainedKey` made a key of. */
export function topicOfKey(key: Buffer): string {
  return key.toString('utf8').replaceAll('\0', '/');
}
