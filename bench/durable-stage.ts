// Ten publishers, each to a session of its own that outlives its connection, on one broker over one
// data directory: QoS 1, as fast as it goes and at a given rate, with the sessions there or away.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { AckedPublisher } from './acked-publisher.ts';
import { accepting, brokers, freePort, type Running } from './brokers.ts';
import { Client } from './client.ts';
import { Latency } from './latency.ts';
import type { BrokerName } from './load.ts';
import { measure, type Span } from './measure.ts';
import { SessionInbox } from './session-inbox.ts';

const pairs = 10;
/** Messages of one publisher under way, and how many are sent in one go. */
const window = 500;
const batch = 50;
/** Messages of one publisher under way at a given rate, beyond which the rate is not kept. */
const backlogMax = 50_000;
const settleMs = 1500;

const settings = [
  'zone.external.max_mqueue_len=0',
  'zone.external.max_inflight=0',
  'listener.tcp.external.max_conn_rate=0',
];

/** Written every second, the shortest time there is; `true` writes everything at every change. */
export const mosquittoDurable = (onChanges: boolean): string[] => [
  // Started by root it would become somebody who may not write there.
  `user ${userInfo().username}`,
  'persistence true',
  'autosave_interval 1',
  `autosave_on_changes ${onChanges}`,
];

export class DurableStage implements AsyncDisposable {
  readonly latency: Latency = new Latency();
  readonly inboxes: readonly SessionInbox[] = Array.from(
    { length: pairs },
    () => new SessionInbox(),
  );
  publishers: readonly AckedPublisher[] = [];
  readonly #broker: BrokerName;
  readonly #onChanges: boolean;
  readonly #directory: string = mkdtempSync(join(tmpdir(), 'bench-durable-'));
  #running: Running | undefined;
  #port = 0;

  constructor(broker: BrokerName, onChanges = false) {
    this.#broker = broker;
    this.#onChanges = onChanges;
  }

  get acked(): number {
    return this.publishers.reduce((sum, { acked }) => sum + acked, 0);
  }

  /** Starts the broker over what there is. */
  async start(): Promise<void> {
    this.#port = await freePort();
    this.#running = brokers[this.#broker].launch(this.#port, {
      settings,
      mosquittoNodelay: false,
      mosquittoSettings: mosquittoDurable(this.#onChanges),
      directory: this.#directory,
    });
    await accepting(this.#port, this.#running);
  }

  async kill(): Promise<void> {
    await this.#running?.kill();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#running?.stop();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  /** Makes the sessions; they stay, or leave again. */
  async openSessions(areThere: boolean): Promise<void> {
    for (let index = 0; index < pairs; index++) {
      const client = await this.#resume(index);
      await client.subscribe(topicOf(index), 1);
      const inbox = this.inboxes[index]!; // one for each pair
      if (areThere) client.receive(inbox.over(client.socket));
      else await client.disconnect();
    }
  }

  /** Every session gets what waits for it, until nothing has come for a while. */
  async resumeSessions(): Promise<void> {
    for (let index = 0; index < pairs; index++) await this.#resume(index);
    for (let before = -1; before !== this.#received; ) {
      before = this.#received;
      await delay(settleMs);
    }
  }

  async openPublishers(): Promise<void> {
    const opened: AckedPublisher[] = [];
    for (let index = 0; index < pairs; index++) {
      const client = await Client.open(this.#port, `bench-durable-pub-${index}`);
      opened.push(new AckedPublisher(client, topicOf(index), this.latency));
    }
    this.publishers = opened;
  }

  /** As fast as it goes, from now until the answer is called. */
  flood(areThere: boolean): () => void {
    let isOver = false;
    for (const [index, publisher] of this.publishers.entries()) {
      const inbox = this.inboxes[index]!; // one for each pair
      // The next batch is sent when an earlier one is acknowledged and, where it can, has arrived.
      const pump = (): void => {
        if (isOver) return;
        const done = areThere ? Math.min(publisher.acked, inbox.received) : publisher.acked;
        const room = window - (publisher.sent - done);
        if (room >= batch) publisher.send(room - (room % batch));
      };
      publisher.onAcked = pump;
      if (areThere) inbox.onReceived = pump;
      pump();
    }
    return () => {
      isOver = true;
    };
  }

  async saturate(seconds: number, areThere: boolean): Promise<Span> {
    const stop = this.flood(areThere);
    const span = await this.#measure(seconds, 1);
    stop();
    await this.#settled();
    return span;
  }

  /** So many messages a second in all, whatever the broker does. Answers whether it kept up. */
  async pace(rate: number, seconds: number): Promise<boolean> {
    const begin = performance.now();
    const before = this.acked;
    let sent = 0;
    const timer = setInterval(() => {
      const due = Math.floor(((performance.now() - begin) / 1000) * rate);
      const each = Math.floor((due - sent) / pairs);
      if (each === 0) return;
      for (const publisher of this.publishers) {
        if (publisher.sent - publisher.acked < backlogMax) publisher.send(each);
      }
      sent += each * pairs;
    }, 1);
    await this.#measure(seconds, 1);
    clearInterval(timer);
    const kept = (this.acked - before) / ((performance.now() - begin) / 1000);
    await this.#settled();
    return kept > rate * 0.95;
  }

  #measure(seconds: number, warmUpSeconds: number): Promise<Span> {
    return measure({
      pid: this.#running?.pid ?? 0,
      seconds,
      warmUpSeconds,
      count: () => this.acked,
      work: () => this.acked,
      onStart: () => this.latency.clear(),
    });
  }

  /** Every PUBACK has come and, where sessions are there, every message. */
  async #settled(): Promise<void> {
    let before = '';
    for (;;) {
      const now = `${this.acked} ${this.#received}`;
      const isDone = this.publishers.every(({ sent, acked }) => sent === acked);
      if (now === before && isDone) return;
      if (now === before) throw new Error('Cannot go on: PUBACKs are missing and none comes');
      before = now;
      await delay(settleMs);
    }
  }

  get #received(): number {
    return this.inboxes.reduce((sum, { received }) => sum + received, 0);
  }

  #resume(index: number): Promise<Client> {
    const inbox = this.inboxes[index]!; // one for each pair
    return Client.resume(this.#port, `bench-durable-${index}`, (socket) => inbox.over(socket));
  }
}

function topicOf(index: number): string {
  return `bench/hall/${String(index).padStart(5, '0')}/temp`;
}
