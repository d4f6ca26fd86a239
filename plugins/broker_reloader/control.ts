// Looks at the folders of running plugins. Law: code that cannot be taken up leaves what runs, is told once,
// and is tried again when it has changed again.

import { type ControlContext, type ControlPart, describeError } from '#sdk';
import type { ReloaderSettings } from './config.ts';

export class Reloader {
  readonly #context: Pick<ControlContext, 'plugins' | 'log'>;
  /** The code that could not be taken up, by plugin. */
  readonly #refused = new Map<string, string>();

  constructor(context: Pick<ControlContext, 'plugins' | 'log'>) {
    this.#context = context;
  }

  async look(): Promise<void> {
    const { plugins, log } = this.#context;
    for (const { plugin, stamp } of plugins.changed()) {
      if (this.#refused.get(plugin) === stamp) continue;
      try {
        await plugins.reload(plugin);
        this.#refused.delete(plugin);
        log.info('reloader.reloaded', { reloaded: plugin });
      } catch (error) {
        this.#refused.set(plugin, stamp);
        log.warn('reloader.failed', { reloaded: plugin, error: describeError(error) });
      }
    }
  }

  /** Whether its code has changed or not. Rejects with the reason. */
  reload(plugin: string): Promise<void> {
    return this.#context.plugins.reload(plugin);
  }
}

const part: ControlPart<ReloaderSettings, Reloader> = (ctx) => {
  const reloader = new Reloader(ctx);
  ctx.every(ctx.settings.intervalMs, () => reloader.look());
  return reloader;
};

export default part;
