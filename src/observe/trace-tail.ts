// Lines of a trace for somebody who reads along, as server-sent events: line, lost (how many), end (why).

import type { Clock } from '#base/clock';
import { serverSentEvent, serverSentPulse, Tail } from '#base/tail';

export class TraceTail implements AsyncIterable<string> {
  readonly #tail: Tail;
  #why: string | undefined;

  constructor(clock: Clock, linesMax?: number) {
    this.#tail = new Tail({ clock, ...(linesMax !== undefined && { textsMax: linesMax }) });
  }

  /** The reader has gone, or all was read. */
  set onGone(call: () => void) {
    this.#tail.onGone = call;
  }

  push(line: string): void {
    this.#tail.push(line);
  }

  /** The trace is over, and why. What waits can still be read. */
  end(why: string): void {
    this.#why ??= why;
    this.#tail.end();
  }

  /** Nobody reads any more. */
  abandon(): void {
    this.#tail.abandon();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<string> {
    let greeting = ': tail\n\n';
    for await (const { texts, lost } of this.#tail) {
      const lines = texts.map((line) => serverSentEvent('line', line)).join('');
      const more = lost === 0 ? '' : serverSentEvent('lost', String(lost));
      yield `${greeting}${lines}${more}` || serverSentPulse;
      greeting = '';
    }
    if (this.#why !== undefined) yield serverSentEvent('end', this.#why);
  }
}
