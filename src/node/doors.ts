// The listeners of a worker: opened together, closed one by one when somebody asks for it. Laws: what is
// to be kept closed is not opened either, so that a worker that comes later never lets anybody in there;
// one order after another, because a listener that is about to open cannot be closed.

import type { Settings } from '#config/settings';
import type { Listener, ListenerReport } from '#net/listener';
import {
  openListeners,
  type SharedListenerOptions,
  type WorkerListenerOptions,
} from '#net/open-listeners';

export class Doors {
  /** In the order of the settings. */
  #listeners: readonly Listener[] = [];
  #closed: ReadonlySet<number> = new Set();
  #turn: Promise<unknown> = Promise.resolve();

  get all(): readonly Listener[] {
    return this.#listeners;
  }

  /** Answers the ports, 0 for what is kept closed. */
  open(
    settings: Settings,
    shared: SharedListenerOptions,
    options: WorkerListenerOptions = {},
  ): Promise<readonly number[]> {
    return this.#inTurn(async () => {
      const closed = this.#closed;
      this.#listeners = await openListeners(settings, shared, { ...options, closed });
      return this.#listeners.map(({ boundPort }) => boundPort ?? 0);
    });
  }

  reports(): readonly ListenerReport[] {
    return this.#listeners.map((listener) => listener.describe());
  }

  /** These, by their place in the settings; all others are open. Connections stay. */
  keepClosed(places: readonly number[]): Promise<void> {
    return this.#inTurn(async () => {
      this.#closed = new Set(places);
      for (const [place, listener] of this.#listeners.entries()) {
        if (this.#closed.has(place)) await listener.stop();
        else await listener.start();
      }
    });
  }

  #inTurn<T>(act: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(act);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }
}
