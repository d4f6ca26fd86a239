// Who listens to which hook, and how a chain of listeners runs. Laws: higher priority first, equal
// priority in order of registration, decided when a listener registers; a chain stays in the current
// tick until a listener returns a promise; a hook that nobody uses is `null`: one comparison.

import {
  type AskedHook,
  type HookName,
  type HookTable,
  hookNames,
  type ToldHook,
} from './table.ts';

export interface HookEntry<K extends HookName> {
  readonly owner: string;
  readonly priority: number;
  readonly call: HookTable[K];
}
type Lists = { [K in HookName]: readonly HookEntry<K>[] | null };
type Settled<K extends HookName> = Awaited<ReturnType<HookTable[K]>>;
type Told<K extends HookName> = Parameters<HookTable[K]>;

/** Told when a listener throws or rejects: the broker goes on, the owner is named. */
export type HookFailed = (hook: HookName, owner: string, error: unknown) => void;

export class Hooks {
  /**
   * Who listens, by hook; null: nobody. The data path reads `lists['message.publish']` with the name
   * written out, which the engine turns into one load; a name in a variable would cost a lookup.
   */
  readonly lists: Readonly<Lists> = Object.fromEntries(
    hookNames.map((hook) => [hook, null]),
  ) as unknown as Lists;
  readonly #failed: HookFailed;
  /** Called after every change, so that the data path can keep what it derives from the lists. */
  onChange: () => void = () => {};

  constructor(failed: HookFailed) {
    this.#failed = failed;
  }

  on<K extends HookName>(hook: K, owner: string, call: HookTable[K], priority = 0): void {
    const before = this.listeners(hook) ?? [];
    if (before.some((entry) => entry.call === call)) {
      throw new TypeError(
        `Cannot hook "${hook}" for "${owner}": the same function is there already`,
      );
    }
    const after = [...before, { owner, priority, call }].sort((a, b) => b.priority - a.priority);
    (this.lists as Record<HookName, unknown>)[hook] = after;
    this.onChange();
  }

  /** Revokes everything an owner registered: unloading a plugin is this one call. */
  off(owner: string): void {
    const lists = this.lists as Record<string, readonly { owner: string }[] | null>;
    for (const [hook, list] of Object.entries(lists)) {
      const left = list?.filter((entry) => entry.owner !== owner) ?? [];
      lists[hook] = left.length === 0 ? null : left;
    }
    this.onChange();
  }

  listeners<K extends HookName>(hook: K): readonly HookEntry<K>[] | null {
    return this.lists[hook] as readonly HookEntry<K>[] | null;
  }

  has(hook: HookName): boolean {
    return this.lists[hook] !== null;
  }

  tell<K extends ToldHook>(hook: K, ...told: Told<K>): void {
    const list = this.listeners(hook);
    if (list === null) return;
    for (const { owner, call } of list) {
      try {
        const answer: unknown = (call as (...args: Told<K>) => unknown)(...told);
        if (answer instanceof Promise) {
          answer.catch((error: unknown) => this.#failed(hook, owner, error));
        }
      } catch (error) {
        this.#failed(hook, owner, error);
      }
    }
  }

  /**
   * The first answer that is not 'ignore'; 'ignore' when everybody passed. A listener that throws or
   * rejects decides `denial`: whoever cannot answer must not open a door.
   */
  ask<K extends AskedHook>(
    hook: K,
    denial: Settled<K>,
    ...asked: Told<K>
  ): Settled<K> | 'ignore' | Promise<Settled<K> | 'ignore'> {
    const list = this.listeners(hook);
    return list === null ? 'ignore' : this.#askFrom(hook, list, 0, denial, asked);
  }

  #askFrom<K extends AskedHook>(
    hook: K,
    list: readonly HookEntry<K>[],
    from: number,
    denial: Settled<K>,
    asked: Told<K>,
  ): Settled<K> | 'ignore' | Promise<Settled<K> | 'ignore'> {
    for (let i = from; i < list.length; i++) {
      const { owner, call } = list[i] as HookEntry<K>;
      try {
        const answer = (call as (...args: Told<K>) => unknown)(...asked);
        if (answer instanceof Promise) {
          return answer.then(
            (late) =>
              late === 'ignore'
                ? this.#askFrom(hook, list, i + 1, denial, asked)
                : (late as Settled<K>),
            (error: unknown) => {
              this.#failed(hook, owner, error);
              return denial;
            },
          );
        }
        if (answer !== 'ignore') return answer as Settled<K>;
      } catch (error) {
        this.#failed(hook, owner, error);
        return denial;
      }
    }
    return 'ignore';
  }

  /** The same for whoever explains: with the owner of the listener that decided. Costs a promise. */
  async askWho<K extends AskedHook>(
    hook: K,
    denial: Settled<K>,
    ...asked: Told<K>
  ): Promise<{ answer: Settled<K> | 'ignore'; owner: string | undefined }> {
    for (const { owner, call } of this.listeners(hook) ?? []) {
      try {
        const answer: unknown = await (call as (...args: Told<K>) => unknown)(...asked);
        if (answer !== 'ignore') return { answer: answer as Settled<K>, owner };
      } catch (error) {
        this.#failed(hook, owner, error);
        return { answer: denial, owner };
      }
    }
    return { answer: 'ignore', owner: undefined };
  }

  /**
   * Hands a value down the chain. `step` calls one listener with the value so far; `merge` takes its
   * answer in and says what the value is now, or `undefined` to end the chain there (dropped).
   * A listener that throws is skipped: the value goes on as it was.
   */
  fold<K extends 'client.subscribe' | 'client.unsubscribe' | 'message.publish', V>(
    hook: K,
    value: V,
    step: (call: HookTable[K], value: V) => ReturnType<HookTable[K]>,
    merge: (value: V, answer: Settled<K>) => V | undefined,
  ): V | undefined | Promise<V | undefined> {
    const list = this.listeners(hook);
    return list === null ? value : this.#foldFrom(hook, list, 0, value, step, merge);
  }

  #foldFrom<K extends 'client.subscribe' | 'client.unsubscribe' | 'message.publish', V>(
    hook: K,
    list: readonly HookEntry<K>[],
    from: number,
    value: V,
    step: (call: HookTable[K], value: V) => ReturnType<HookTable[K]>,
    merge: (value: V, answer: Settled<K>) => V | undefined,
  ): V | undefined | Promise<V | undefined> {
    let folded = value;
    for (let i = from; i < list.length; i++) {
      const { owner, call } = list[i] as HookEntry<K>;
      try {
        const answer: unknown = step(call, folded);
        if (answer instanceof Promise) {
          return answer.then(
            (late) => this.#foldOn(hook, list, i, folded, late as Settled<K>, step, merge),
            (error: unknown) => {
              this.#failed(hook, owner, error);
              return this.#foldFrom(hook, list, i + 1, folded, step, merge);
            },
          );
        }
        const next = merge(folded, answer as Settled<K>);
        if (next === undefined) return undefined;
        folded = next;
      } catch (error) {
        this.#failed(hook, owner, error);
      }
    }
    return folded;
  }

  /** Takes in an answer that came late, then goes on behind its listener. */
  #foldOn<K extends 'client.subscribe' | 'client.unsubscribe' | 'message.publish', V>(
    hook: K,
    list: readonly HookEntry<K>[],
    at: number,
    folded: V,
    answer: Settled<K>,
    step: (call: HookTable[K], value: V) => ReturnType<HookTable[K]>,
    merge: (value: V, answer: Settled<K>) => V | undefined,
  ): V | undefined | Promise<V | undefined> {
    let next: V | undefined = folded;
    try {
      next = merge(folded, answer);
    } catch (error) {
      this.#failed(hook, (list[at] as HookEntry<K>).owner, error);
    }
    return next === undefined ? undefined : this.#foldFrom(hook, list, at + 1, next, step, merge);
  }

  /** Reports a failure of a listener that was called outside the runners above. */
  report(hook: HookName, owner: string, error: unknown): void {
    this.#failed(hook, owner, error);
  }
}
