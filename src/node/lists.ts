// The lists that management shows (connections, sessions, subscriptions) as plain rows, a page at a
// time: reading a hundred thousand of them at once would hold up every client of the worker.

import type { Broker } from '#core/broker';
import type { Session } from '#core/session';

export type ListKind = 'connections' | 'sessions' | 'subscriptions';

export type Row = Readonly<Record<string, string | number | boolean | undefined>>;

export interface ListPage {
  readonly rows: readonly Row[];
  /** Where the next page begins; undefined: there is none. */
  readonly next: number | undefined;
}

/** The whole list; `pageFrom` is asked until there is no next page. */
export async function allPages(
  pageFrom: (from: number | undefined) => Promise<ListPage>,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (let from: number | undefined; ; ) {
    const page: ListPage = await pageFrom(from);
    rows.push(...page.rows);
    if (page.next === undefined) return rows;
    from = page.next;
  }
}

const pageRows = 1000;
/** Lists that somebody has begun to read; the oldest is given up for one more. */
const openMax = 32;

export class Lists {
  readonly #broker: Broker;
  readonly #open = new Map<number, Iterator<Row>>();
  #next = 1;

  constructor(broker: Broker) {
    this.#broker = broker;
  }

  /** What comes and goes between two pages may be seen or not; nothing is seen twice. */
  page(kind: ListKind, from: number | undefined): ListPage {
    const rows = from === undefined ? rowsOf(this.#broker, kind) : this.#open.get(from);
    if (from !== undefined) this.#open.delete(from);
    if (rows === undefined) throw new RangeError(`Cannot go on with list ${from}: it is not open`);
    const page: Row[] = [];
    while (page.length < pageRows) {
      const row = rows.next();
      if (row.done === true) return { rows: page, next: undefined };
      page.push(row.value);
    }
    const next = this.#next++;
    this.#open.set(next, rows);
    const oldest = this.#open.keys().next().value;
    if (this.#open.size > openMax && oldest !== undefined) this.#open.delete(oldest);
    return { rows: page, next };
  }
}

function rowsOf(broker: Broker, kind: ListKind): Iterator<Row> {
  if (kind === 'connections') return connectionRows(broker);
  return kind === 'sessions' ? sessionRows(broker) : subscriptionRows(broker);
}

function* connectionRows(broker: Broker): Generator<Row> {
  for (const { publisher } of broker.channels()) yield { ...publisher };
}

function* sessionRows({ core }: Broker): Generator<Row> {
  for (const session of core.sessions.values()) yield sessionRow(session);
}

function sessionRow(session: Session): Row {
  const { out } = session;
  return {
    clientId: session.clientId,
    username: session.username,
    isConnected: session.isConnected,
    cleanStart: session.cleanStart,
    createdAtMs: session.createdAtMs,
    expirySeconds: session.expirySeconds,
    subscriptions: session.subscriptions.size,
    inflight: out.window.inflight.size,
    queued: out.queue.length,
    dropped: out.queue.dropped,
    awaitingRel: session.awaitingRel.size,
    delivered: out.delivered,
    enqueued: out.enqueued,
  };
}

function* subscriptionRows({ core }: Broker): Generator<Row> {
  for (const { clientId, subscriptions } of core.sessions.values()) {
    for (const {
      filter,
      qos,
      noLocal,
      retainAsPublished,
      retainHandling,
    } of subscriptions.values()) {
      yield { clientId, filter, qos, noLocal, retainAsPublished, retainHandling };
    }
  }
}
