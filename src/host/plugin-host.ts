// The plugins of a node: started, stopped, read anew, one change at a time. Laws: what is to run is on disk
// before it is said to run; whatever a plugin registered goes when it does; an auth plugin that is to run
// and cannot keeps the node from starting, because the door that it guards would stand open.

import { setImmediate as turn } from 'node:timers/promises';
import { describeError, describeMistake } from '#base/errors';
import { OperatingError } from '#admin/failures';
import type { AnyOperation } from '#admin/operation';
import type {
  PluginConfigs,
  PluginGauge,
  PluginMetric,
  PluginRow,
  PluginsFace,
} from '#admin/plugins-face';
import { isShipped } from '#plugin/discover';
import { startMsMax, undoMsMax } from '#plugin/start-limit';
import type { BuiltIn } from './built-in.ts';
import type { HostParts } from './host-parts.ts';
import { LoadedList } from './loaded-list.ts';
import { PluginRun, type RunParts } from './plugin-run.ts';
import { type ChangedPlugin, PluginShelf } from './plugin-shelf.ts';
import { gaugesOf, metricsOf } from './run-figures.ts';

export class PluginHost implements PluginsFace, AsyncDisposable {
  readonly #parts: RunParts;
  readonly #builtIn: ReadonlyMap<string, BuiltIn>;
  readonly #shelf: PluginShelf;
  /** In the order in which they were loaded: that of their hooks. */
  readonly #runs = new Map<string, PluginRun>();
  readonly #activeBuiltIn = new Set<string>();
  readonly #list: LoadedList;
  /** In the order in which they were loaded, those that could not start too. */
  #loaded: readonly string[] = [];
  /** What each runs with, or would. */
  readonly #settings: Map<string, unknown>;
  #configs: PluginConfigs | undefined;
  #starts = 0;
  /** Management is, or is about to be. */
  #isServing = false;
  #queue: Promise<unknown> = Promise.resolve();

  constructor(parts: HostParts) {
    const { settings, found, keys } = parts;
    const plugins = { changed: () => this.changed(), reload: (name: string) => this.reload(name) };
    this.#parts = { ...parts, plugins };
    this.#settings = new Map(settings.plugins);
    this.#builtIn = new Map(parts.builtIn.map((one) => [one.name, one]));
    // A name of the broker's own cannot be taken over from outside.
    const others = found.filter(({ name }) => !this.#builtIn.has(name));
    this.#shelf = new PluginShelf({ found: others, keys, dir: settings.pluginHost.dir });
    this.#list = new LoadedList(settings.node.dataDir);
    parts.workers.onQuestion(async (plugin, question, args) => {
      const run = this.#runs.get(plugin);
      if (run === undefined) throw new TypeError(`Cannot ask ${plugin}: it does not run`);
      return run.answer(question, args);
    });
  }

  /** Everything that is to run, before anybody is let in. */
  async start(): Promise<void> {
    const listed = this.#list.read();
    const wanted = [...new Set(listed ?? this.#parts.settings.pluginHost.loaded)];
    for (const { name, start } of this.#parts.builtIn) {
      if (start === undefined && !wanted.includes(name)) wanted.unshift(name);
    }
    this.#loaded = wanted;
    for (const { name, stop } of this.#parts.builtIn) if (!wanted.includes(name)) await stop?.();
    for (const name of wanted) {
      if (this.#builtIn.get(name)?.obstacle?.() !== undefined) continue;
      await this.#startOne(name).catch((error: unknown) => this.#giveUp(name, error));
    }
    const failed = await this.#tellWorkers();
    for (const [name, text] of failed) await this.#giveUp(name, new Error(text));
    if (failed.size > 0) await this.#tellWorkers();
    await Promise.all([...this.#runs.values()].map((run) => run.placed()));
    if (listed === undefined) await this.#list.write(wanted);
  }

  /** The node starts without it, or not at all. */
  async #giveUp(name: string, cause: unknown): Promise<void> {
    // A port that is taken stops the start, whoever it is for.
    if (this.#builtIn.has(name)) throw cause;
    const text = describeMistake(cause);
    const { definition } = this.#shelf.get(name) ?? {};
    // Of one that is not there or cannot be read nobody knows whether it guards a door.
    const isVital = definition === undefined || definition.type === 'auth';
    if (isVital) {
      const remedy = `mend it, or take {${name}, true}. out of loaded_plugins in node.data_dir`;
      throw new Error(`Cannot start without plugin ${name}: ${text}; ${remedy}`, { cause });
    }
    const run = this.#runs.get(name);
    this.#runs.delete(name);
    this.#parts.catalogue.remove(name);
    await run?.stop();
    this.#parts.log.error('plugin.start_failed', { plugin: name, error: text });
    this.#parts.alarms.raise(`plugin_failed/${name}`, { severity: 'error', message: text });
  }

  /** Before management is served, and after the node listens: what that takes is not waited for by clients. */
  serve(): Promise<void> {
    return this.#oneByOne(async () => {
      this.#isServing = true;
      const builtIn = this.#parts.builtIn.filter(({ name }) => this.#activeBuiltIn.has(name));
      const runs = [...this.#runs.values()];
      for (const one of [...builtIn, ...runs]) {
        // Without workers it is this thread that has clients to answer: loading holds it for long.
        await turn();
        await this.#offer(one).catch((error: unknown) => this.#giveUp(one.name, error));
      }
      if (runs.length > this.#runs.size) await this.#tellWorkers();
    });
  }

  useConfigs(configs: PluginConfigs): void {
    this.#configs = configs;
  }

  rows(): PluginRow[] {
    const ours = `v${this.#parts.version}`;
    const builtIn = this.#parts.builtIn.map(({ name, description }): PluginRow => {
      return { name, version: ours, description, active: this.isActive(name), type: 'feature' };
    });
    const found = this.#shelf.all().map(({ name, definition, fault }): PluginRow => {
      const {
        version,
        description = `Cannot be read: ${fault}`,
        type = 'feature',
      } = this.#runs.get(name)?.definition ?? definition ?? {};
      const shown = version === undefined ? ours : `v${version}`;
      return { name, version: shown, description, active: this.isActive(name), type };
    });
    return [...builtIn, ...found].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  check(plugin: string): void {
    if (this.#builtIn.has(plugin) || this.#shelf.get(plugin) !== undefined) return;
    const known = this.rows()
      .map(({ name }) => name)
      .join(', ');
    throw new OperatingError('notFound', `Cannot find plugin "${plugin}": there are ${known}`);
  }

  isActive(plugin: string): boolean {
    const builtIn = this.#builtIn.get(plugin);
    if (builtIn !== undefined) return builtIn.isActive?.() ?? this.#activeBuiltIn.has(plugin);
    return this.#runs.has(plugin);
  }

  isBuiltIn(plugin: string): boolean {
    return this.#builtIn.has(plugin);
  }

  load(plugin: string): Promise<void> {
    return this.#oneByOne(async () => {
      if (!this.#builtIn.has(plugin)) await this.#shelf.look(plugin);
      this.check(plugin);
      if (this.isActive(plugin)) throw refused('already_started');
      const obstacle = this.#builtIn.get(plugin)?.obstacle?.();
      if (obstacle !== undefined) throw refused(obstacle);
      if (this.#builtIn.has(plugin)) await this.#bringUp(plugin);
      else await this.#renew(plugin);
      await this.#keepLoaded([...this.#loaded.filter((name) => name !== plugin), plugin]);
    });
  }

  unload(plugin: string): Promise<void> {
    return this.#oneByOne(async () => {
      this.check(plugin);
      const isActive = this.isActive(plugin);
      // One that is to run and could not start can be taken off the list.
      if (!isActive && !this.#loaded.includes(plugin)) throw refused('not_started');
      const builtIn = this.#builtIn.get(plugin);
      if (builtIn !== undefined && builtIn.stop === undefined) {
        throw refused(`Plugin ${plugin} can not be unloaded`);
      }
      await this.#keepLoaded(this.#loaded.filter((name) => name !== plugin));
      if (isActive) await this.#takeDown(plugin);
      this.#parts.alarms.clear(`plugin_failed/${plugin}`);
      this.#parts.log.info('plugin.unloaded', { plugin });
    });
  }

  reload(plugin: string): Promise<void> {
    return this.#oneByOne(async () => {
      if (!this.#builtIn.has(plugin)) await this.#shelf.look(plugin);
      this.check(plugin);
      if (this.#builtIn.has(plugin)) await this.#reloadBuiltIn(plugin);
      else await this.#renew(plugin);
      if (!this.#loaded.includes(plugin)) await this.#keepLoaded([...this.#loaded, plugin]);
    });
  }

  /** Plugins that run and whose code on disk is another. */
  changed(): ChangedPlugin[] {
    return this.#shelf.changed(this.#runs.keys());
  }

  async ownerOf(word: string): Promise<string | undefined> {
    // The catalogue on paper is heavy, and hardly ever asked for.
    const { commandOwner } = await import('./paper-plugins.ts');
    const isIdle = ({ name }: { readonly name: string }): boolean => !this.isActive(name);
    const builtIn = this.#parts.builtIn.filter(isIdle);
    return commandOwner(word, { builtIn, found: this.#shelf.all().filter(isIdle) });
  }

  metrics(): PluginMetric[] {
    return metricsOf(this.#runs.values());
  }

  gauges(): PluginGauge[] {
    return gaugesOf(this.#runs.values());
  }

  failures(): Record<string, number> {
    return Object.fromEntries([...this.#runs].map(([name, { failures }]) => [name, failures]));
  }

  /** How much the control parts of those that run have to undo; for tests. */
  held(): Record<string, number> {
    return Object.fromEntries([...this.#runs].map(([name, { held }]) => [name, held]));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#queue;
    for (const run of [...this.#runs.values()].reverse()) await run.stop();
    this.#runs.clear();
  }

  /** Starts it with its code and its settings as they are now; a failure leaves what was. */
  async #renew(plugin: string): Promise<void> {
    const takeBack = await this.#shelf.renew(plugin).catch((error: unknown) => {
      throw refused(`Cannot read ${plugin}: ${describeError(error)}`, error);
    });
    const former = this.#settings.get(plugin);
    try {
      this.#settings.set(plugin, this.#nextSettings(plugin));
      await this.#bringUp(plugin);
    } catch (error) {
      takeBack();
      this.#settings.set(plugin, former);
      throw error;
    }
    this.#configs?.reloaded(plugin);
  }

  #nextSettings(plugin: string): unknown {
    const configs = this.#configs;
    if (configs === undefined) return this.#settings.get(plugin);
    return fromFiles(() => configs.next().plugins.get(plugin));
  }

  /** Starts it, or starts it anew in place of what runs, in all threads or in none. */
  async #bringUp(plugin: string): Promise<void> {
    const former = this.#runs.get(plugin);
    try {
      await this.#startOne(plugin);
      const failed = (await this.#tellWorkers()).get(plugin);
      if (failed !== undefined) throw new Error(failed);
    } catch (error) {
      await this.#fallBack(plugin, former);
      if (error instanceof OperatingError) throw error;
      throw refused(`Cannot start ${plugin}: ${describeMistake(error)}`, error);
    }
    await this.#runs.get(plugin)?.placed();
    await former?.stop();
    this.#parts.alarms.clear(`plugin_failed/${plugin}`);
    this.#parts.log.info('plugin.loaded', { plugin });
  }

  async #fallBack(plugin: string, former: PluginRun | undefined): Promise<void> {
    const failed = this.#runs.get(plugin);
    if (failed === undefined || failed === former) return;
    if (former === undefined) this.#runs.delete(plugin);
    else this.#runs.set(plugin, former);
    try {
      if (former === undefined) this.#parts.catalogue.remove(plugin);
      else await this.#offer(former);
      await this.#tellWorkers();
    } finally {
      await failed.stop();
    }
  }

  async #startOne(plugin: string): Promise<void> {
    const builtIn = this.#builtIn.get(plugin);
    if (builtIn !== undefined) return this.#startBuiltIn(builtIn);
    const found = this.#shelf.get(plugin);
    if (found === undefined) throw new Error('there is no folder of this name');
    if (found.definition === undefined) throw new Error(found.fault);
    const run = new PluginRun(this.#parts, {
      found,
      definition: found.definition,
      start: ++this.#starts,
      settings: this.#settings.get(plugin),
      former: this.#runs.get(plugin),
    });
    await run.start();
    try {
      await this.#offer(run);
    } catch (error) {
      await run.stop();
      throw error;
    }
    this.#runs.set(plugin, run);
  }

  async #startBuiltIn(builtIn: BuiltIn): Promise<void> {
    await builtIn.start?.();
    this.#activeBuiltIn.add(builtIn.name);
    await this.#offer(builtIn);
  }

  /** Its REST and commands, which are loaded once management is served. */
  async #offer(one: BuiltIn | PluginRun): Promise<void> {
    if (!this.#isServing) return;
    const operations = (await one.operations?.()) ?? [];
    const found = this.#shelf.get(one.name);
    if (operations.length > 0 && found !== undefined && !isShipped(found)) {
      await checkAgainstBroker(one.name, operations);
    }
    this.#parts.catalogue.replace(one.name, operations);
  }

  async #takeDown(plugin: string): Promise<void> {
    this.#parts.catalogue.replace(plugin, []);
    const builtIn = this.#builtIn.get(plugin);
    if (builtIn !== undefined) {
      this.#activeBuiltIn.delete(plugin);
      return builtIn.stop?.();
    }
    const run = this.#runs.get(plugin);
    this.#runs.delete(plugin);
    try {
      await this.#tellWorkers();
    } finally {
      await run?.stop();
    }
  }

  /** All workers run what runs here, and so will those that come later. Answers what cannot, and why. */
  async #tellWorkers(): Promise<ReadonlyMap<string, string>> {
    const orders = () => [[...this.#runs.values()].map((run) => run.orderNow())] as const;
    // Each of them may use up its time before the next one has its turn.
    const deadlineMs = startMsMax * (this.#runs.size + 1) + undoMsMax;
    const answers = await this.#parts.workers.uphold('runPlugins', orders, deadlineMs);
    return new Map(answers.flat());
  }

  async #reloadBuiltIn(plugin: string): Promise<void> {
    const changed = fromFiles(() => this.#configs?.changedKeys(plugin) ?? []);
    if (changed.length > 0) {
      const keys = changed.join(', ');
      throw refused(
        `Cannot reload ${plugin}: ${keys} changed, which needs a restart of the broker`,
      );
    }
    if (!this.isActive(plugin)) await this.#bringUp(plugin);
  }

  async #keepLoaded(loaded: readonly string[]): Promise<void> {
    await this.#list.write(loaded);
    this.#loaded = loaded;
  }

  #oneByOne<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#queue.then(work);
    this.#queue = done.catch(() => undefined);
    return done;
  }
}

/** Plugins start before the broker's own operations are in the catalogue, and some of those come and go. */
async function checkAgainstBroker(
  name: string,
  operations: readonly AnyOperation[],
): Promise<void> {
  const { paperCatalogue } = await import('#admin/paper-catalogue');
  paperCatalogue().add(name, operations);
}

/** A failure to read is that of the files. */
function fromFiles<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw refused(`parse_config_file_failed: ${describeError(cause)}`, cause);
  }
}

function refused(reason: string, cause?: unknown): OperatingError {
  return new OperatingError('failed', reason, { cause });
}
