// Events on their way to the web server. Laws: nobody waits for them; those of one client arrive in their
// order; what waits is bounded, and more is dropped and counted; one that the server does not take is tried
// a few times and then given up.

import { createHmac } from 'node:crypto';
import type { Clock, HttpSender } from '#sdk';
import type { WebHookSettings } from './config.ts';

export type Fate = 'web_hook.sent' | 'web_hook.failed' | 'web_hook.dropped';

export interface LanesParts {
  readonly settings: Pick<
    WebHookSettings,
    'poolSize' | 'queueMax' | 'queueBytesMax' | 'headers' | 'secret'
  >;
  readonly sender: Pick<HttpSender, 'send'>;
  readonly clock: Clock;
  readonly isPassing: (error: unknown) => boolean;
  readonly count: (fate: Fate) => void;
  /** Told the first time that one fails, and when they are taken again. */
  readonly onChange: (error: unknown) => void;
}

/** Before the second try, and before the third. */
const pausesMs: readonly number[] = [200, 1000];

export class Lanes {
  readonly #parts: LanesParts;
  /** Bodies by lane; one that is not there is idle. */
  readonly #lanes = new Map<number, string[]>();
  #count = 0;
  #bytes = 0;
  #isFailing = false;
  #isClosed = false;

  constructor(parts: LanesParts) {
    this.#parts = parts;
  }

  /** Waiting and under way. */
  get pending(): number {
    return this.#count;
  }

  /** What comes now is dropped, whatever it is: nobody need put it into words. */
  get isFull(): boolean {
    const { queueMax, queueBytesMax } = this.#parts.settings;
    return this.#count >= queueMax || this.#bytes >= queueBytesMax;
  }

  offer(clientId: string, body: string): void {
    const { poolSize, queueMax, queueBytesMax } = this.#parts.settings;
    if (this.#isClosed) return;
    if (this.#count >= queueMax || this.#bytes + body.length > queueBytesMax) {
      this.#parts.count('web_hook.dropped');
      return;
    }
    this.#count++;
    this.#bytes += body.length;
    const lane = laneOf(clientId, poolSize);
    const waiting = this.#lanes.get(lane);
    if (waiting !== undefined) {
      waiting.push(body);
      return;
    }
    this.#lanes.set(lane, [body]);
    void this.#drain(lane);
  }

  close(): void {
    this.#isClosed = true;
    this.#lanes.clear();
  }

  async #drain(lane: number): Promise<void> {
    for (;;) {
      const bodies = this.#lanes.get(lane);
      if (bodies === undefined || bodies.length === 0) break;
      // Those that come meanwhile are the next round.
      this.#lanes.set(lane, []);
      for (const body of bodies) {
        if (this.#isClosed) return;
        const isSent = await this.#send(body);
        this.#count--;
        this.#bytes -= body.length;
        if (!this.#isClosed) this.#parts.count(isSent ? 'web_hook.sent' : 'web_hook.failed');
      }
    }
    this.#lanes.delete(lane);
  }

  async #send(body: string): Promise<boolean> {
    const { sender, isPassing, onChange } = this.#parts;
    for (let tries = 0; ; tries++) {
      try {
        await sender.send({ method: 'POST', path: '', headers: this.#headers(body), body });
        if (this.#isFailing) onChange(undefined);
        this.#isFailing = false;
        return true;
      } catch (error) {
        const pauseMs = pausesMs[tries];
        if (pauseMs !== undefined && isPassing(error) && !this.#isClosed) {
          await this.#pause(pauseMs);
          continue;
        }
        if (!this.#isFailing && !this.#isClosed) onChange(error);
        this.#isFailing = true;
        return false;
      }
    }
  }

  #headers(body: string): Record<string, string> {
    const { headers, secret } = this.#parts.settings;
    const fixed = {
      'content-type': 'application/json',
      ...headers,
      'content-length': String(Buffer.byteLength(body)),
    };
    if (secret === undefined) return fixed;
    const timestamp = String(Math.floor(this.#parts.clock.nowMs() / 1000));
    const mac = createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex');
    return { ...fixed, 'x-webhook-timestamp': timestamp, 'x-webhook-signature': `sha256=${mac}` };
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#parts.clock.setTimer(ms, resolve));
  }
}

/** The same for one client each time. */
function laneOf(clientId: string, lanes: number): number {
  let hash = 0;
  for (let i = 0; i < clientId.length; i++) hash = (hash * 31 + clientId.charCodeAt(i)) >>> 0;
  return hash % lanes;
}
