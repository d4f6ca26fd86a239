// What is a plugin by name. There is no plugin host yet: retained messages and management are parts of
// the broker that always run, and the dashboard's port can be closed and opened. Which of them are
// active is not kept over a restart.

import { describeError } from '#base/errors';
import { OperatingError } from './failures.ts';
import type { AdminParts } from './parts.ts';

export interface PluginRow {
  readonly name: string;
  /** `v0.1.0` */
  readonly version: string;
  readonly description: string;
  readonly active: boolean;
  readonly type: 'auth' | 'protocol' | 'backend' | 'bridge' | 'feature';
}

/** Keys of a plugin that its files have changed since the start; throws where they are broken. */
export type ChangedKeys = (plugin: string) => readonly string[];

type Parts = Pick<AdminParts, 'version' | 'dashboard'>;

const descriptions: Readonly<Record<string, string>> = {
  broker_dashboard: 'Broker Dashboard',
  broker_management: 'Broker Management API and CLI',
  broker_retainer: 'Broker Retainer',
};

export class PluginList {
  readonly #parts: Parts;
  readonly #changedKeys: ChangedKeys;
  /** One change at a time. */
  #last: Promise<unknown> = Promise.resolve();
  /** The dashboard's port, as far as it has been closed here. */
  #closing: Promise<void> = Promise.resolve();

  constructor(parts: Parts, changedKeys: ChangedKeys) {
    this.#parts = parts;
    this.#changedKeys = changedKeys;
  }

  /** By name. */
  rows(): PluginRow[] {
    const version = `v${this.#parts.version}`;
    return Object.entries(descriptions).map(([name, description]) => {
      return { name, version, description, active: this.#isActive(name), type: 'feature' };
    });
  }

  load(plugin: string): Promise<void> {
    return this.#oneByOne(async () => {
      checkPlugin(plugin);
      if (this.#isActive(plugin)) throw refused('already_started');
      await this.#startDashboard();
    });
  }

  unload(plugin: string): Promise<void> {
    return this.#oneByOne(async () => {
      checkPlugin(plugin);
      if (!this.#isActive(plugin)) throw refused('not_started');
      const { dashboard } = this.#parts;
      if (plugin !== 'broker_dashboard' || dashboard === undefined) {
        throw refused(`Plugin ${plugin} can not be unloaded`);
      }
      // Not waited for: who asks over that very port has to get his answer before it can close.
      this.#closing = dashboard.stop();
      this.#closing.catch(() => undefined);
    });
  }

  /**
   * Runs with what its file says: starts what does not run, and leaves alone what runs with just that.
   * Other values take a restart of the broker.
   */
  reload(plugin: string): Promise<void> {
    return this.#oneByOne(async () => {
      checkPlugin(plugin);
      const changed = this.#changedKeys(plugin);
      if (changed.length > 0) {
        const keys = changed.join(', ');
        throw refused(
          `Cannot reload ${plugin}: ${keys} changed, which needs a restart of the broker`,
        );
      }
      if (!this.#isActive(plugin)) await this.#startDashboard();
    });
  }

  async #startDashboard(): Promise<void> {
    const { dashboard } = this.#parts;
    if (dashboard === undefined) {
      const wanted = 'expected dashboard.listener.http = <port> and a restart of the broker';
      throw refused(`Cannot start broker_dashboard: it has no listener, ${wanted}`);
    }
    try {
      await this.#closing;
      await dashboard.start();
    } catch (cause) {
      // A port that somebody else has taken meanwhile: not our fault, and worth saying.
      throw new OperatingError('failed', describeError(cause), { cause });
    }
  }

  #isActive(plugin: string): boolean {
    return plugin !== 'broker_dashboard' || this.#parts.dashboard?.isActive === true;
  }

  #oneByOne<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => undefined);
    return done;
  }
}

export function checkPlugin(plugin: string): void {
  if (Object.hasOwn(descriptions, plugin)) return;
  const names = Object.keys(descriptions).join(', ');
  throw new OperatingError('notFound', `Cannot find plugin "${plugin}": there are ${names}`);
}

function refused(reason: string): OperatingError {
  return new OperatingError('failed', reason);
}
