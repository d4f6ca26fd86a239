// Pairs of clients whose workers are known. The kernel decides where a connection goes, so there are
// spare ones, until every pair can be made of some; the others leave.

import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { Client, openAll } from '../client.ts';

/** In the broker's data directory. */
export const placesSocket = 'places';

/** Client ids by worker. */
export type Places = readonly (readonly string[])[];

export interface Pair<T> {
  readonly publisher: T;
  readonly subscriber: T;
}

/** Beyond this many connections it is no bad luck: they all go to one worker. */
const connectionsMax = 400;

/** Opens connections until the pairs can be made; `socketFile`: where the broker tells its places. */
export async function openPairs(
  port: number,
  socketFile: string,
  count: number,
  isCrossing: boolean,
): Promise<Pair<Client>[]> {
  const clients = new Map<string, Client>();
  for (;;) {
    const before = clients.size;
    await openAll(2 * count, async (index) => {
      const id = `bench-placed-${before + index}`;
      const client = await Client.open(port, id);
      clients.set(id, client);
      return client;
    });
    const places = await askPlaces(socketFile);
    const chosen = choosePairs(places, count, isCrossing)?.map(({ publisher, subscriber }) => ({
      publisher: taken(clients, publisher),
      subscriber: taken(clients, subscriber),
    }));
    if (chosen !== undefined) {
      await Promise.all([...clients.values()].map((client) => client.disconnect()));
      return chosen;
    }
    if (clients.size >= connectionsMax) {
      const found = places.map((ids) => ids.length).join(' and ');
      throw new Error(`Cannot place ${count} pairs: ${found} connections in the workers`);
    }
  }
}

/**
 * Pairs within one worker, or across two, publishers in both workers alike. Undefined while one of the
 * workers has too few.
 */
export function choosePairs(
  [first = [], second = []]: Places,
  count: number,
  isCrossing: boolean,
): Pair<string>[] | undefined {
  const even = [...first];
  const odd = [...second];
  const pairs: Pair<string>[] = [];
  for (let number = 0; number < count; number++) {
    const [near, far] = number % 2 === 0 ? [even, odd] : [odd, even];
    const publisher = near.pop();
    const subscriber = (isCrossing ? far : near).pop();
    if (publisher === undefined || subscriber === undefined) return undefined;
    pairs.push({ publisher, subscriber });
  }
  return pairs;
}

async function askPlaces(socketFile: string): Promise<Places> {
  return JSON.parse(await text(connect(socketFile))) as Places;
}

function taken(clients: Map<string, Client>, id: string): Client {
  const client = clients.get(id);
  if (client === undefined) throw new Error(`Cannot use client "${id}": it is not one of ours`);
  clients.delete(id);
  return client;
}
