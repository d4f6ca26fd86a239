// Who listens to which hook, and how a chain of listeners runs. Laws: higher priority first, equal
// priority in order of registration, decided when a listener registers; a chain stays in the current
// tick until a listener returns a promise; a hook that nobody uses is `null`: one comparison.

import type { Clock } from '#base/clock';
import { checkedAnswer } from './answer-shapes.ts';
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
type AnyEntry = HookEntry<HookName>;
type Lists = { [K in HookName]: readonly HookEntry<K>[] | null };
type Settled<K extends HookName> = Awaited<ReturnType<HookTable[K]>>;
type Told<K extends HookName> = Parameters<HookTable[K]>;

/** Told when a listener throws or rejects: the broker goes on, the owner is named. */
export type HookFailed = (hook: HookName, owner: string, error: unknown) => void;

/** How long somebody who is asked may take; then he has said no. */
export interface Patience {
  readonly clock: Clock;
  readonly deadlineMs: number;
}

/** A listener that is not there yet; see `replace`. */
export interface HookWish {
  readonly hook: HookName;
  readonly call: HookTable[HookName];
  readonly priority: number | undefined;
}

export class Hooks {
  /**
   * Who listens, by hook; null: nobody. The data path reads `lists['message.publish']` with the name
   * written out, which the engine turns into one load; a name in a variable would cost a lookup.
   */
  readonly lists: Readonly<Lists> = Object.fromEntries(
    hookNames.map((hook) => [hook, null]),
  ) as unknown as Lists;
  readonly #failed: HookFailed;
  readonly #patience: Patience | undefined;
  /** Told besides `failed`, by whom the owner is known. */
  onFailure: (owner: string) => void = () => {};
  /** Called after every change, so that the data path can keep what it derives from the lists. */
  onChange: () => void = () => {};

  /** Without `patience` an answer may take as long as it likes. */
  constructor(failed: HookFailed, patience?: Patience) {
    this.#failed = (hook, owner, error) => {
      failed(hook, owner, error);
      this.onFailure(owner);
    };
    this.#patience = patience;
  }

  on<K extends HookName>(hook: K, owner: string, call: HookTable[K], priority = 0): void {
    this.#put(hook, this.#with(hook, owner, this.listeners(hook) ?? [], { hook, call, priority }));
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

  /** Everything of an owner gives way to these at once: nobody finds the chain without him. */
  replace(owner: string, wishes: readonly HookWish[]): void {
    const unknown = wishes.find(({ hook }) => !Object.hasOwn(this.lists, hook));
    if (unknown !== undefined) throw noSuchHook(unknown.hook, owner);
    // All lists first: one that cannot be made leaves everything as it is.
    const fresh = hookNames.map((hook) => [hook, this.#replaced(hook, owner, wishes)] as const);
    for (const [hook, list] of fresh) this.#put(hook, list);
    this.onChange();
  }

  #replaced(hook: HookName, owner: string, wishes: readonly HookWish[]): readonly AnyEntry[] {
    const before: readonly AnyEntry[] = this.listeners(hook) ?? [];
    let after: readonly AnyEntry[] = before.filter((entry) => entry.owner !== owner);
    for (const wish of wishes) {
      if (wish.hook === hook) after = this.#with(hook, owner, after, wish);
    }
    // Among its equals it keeps the place that it had: a chain has the same order after a reload.
    const placeOf = (entry: AnyEntry): number => {
      if (entry.owner !== owner) return before.indexOf(entry);
      const place = before.findIndex(
        (one) => one.owner === owner && one.priority === entry.priority,
      );
      return place < 0 ? before.length : place;
    };
    return after.toSorted((a, b) => b.priority - a.priority || placeOf(a) - placeOf(b));
  }

  /** Behind its equals. */
  #with(
    hook: HookName,
    owner: string,
    list: readonly AnyEntry[],
    { call, priority = 0 }: HookWish,
  ): readonly AnyEntry[] {
    if (!Object.hasOwn(this.lists, hook)) throw noSuchHook(hook, owner);
    if (list.some((entry) => entry.call === call)) {
      throw new TypeError(
        `Cannot hook "${hook}" for "${owner}": the same function is there already`,
      );
    }
    return [...list, { owner, priority, call }].sort((a, b) => b.priority - a.priority);
  }

  #put(hook: HookName, list: readonly AnyEntry[]): void {
    (this.lists as Record<HookName, unknown>)[hook] = list.length === 0 ? null : list;
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
          const checked = answer.then((late: unknown) => checkedAnswer(hook, late));
          return this.#inTime(hook, checked).then(
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
        if (checkedAnswer(hook, answer) !== 'ignore') return answer as Settled<K>;
      } catch (error) {
        this.#failed(hook, owner, error);
        return denial;
      }
    }
    return 'ignore';
  }

  #inTime(hook: HookName, answer: Promise<unknown>): Promise<unknown> {
    if (this.#patience === undefined) return answer;
    const { clock, deadlineMs } = this.#patience;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const timer = clock.setTimer(deadlineMs, () =>
      reject(new Error(`Cannot wait for ${hook} any longer: no answer within ${deadlineMs} ms`)),
    );
    answer.then(resolve, reject).finally(() => timer.cancel());
    return promise;
  }

  /** The same for whoever explains: with the owner of the listener that decided. Costs a promise. */
  async askWho<K extends AskedHook>(
    hook: K,
    denial: Settled<K>,
    ...asked: Told<K>
  ): Promise<{ answer: Settled<K> | 'ignore'; owner: string | undefined }> {
    for (const { owner, call } of this.listeners(hook) ?? []) {
      try {
        const given = (call as (...args: Told<K>) => unknown)(...asked);
        const answer = given instanceof Promise ? await this.#inTime(hook, given) : given;
        if (checkedAnswer(hook, answer) !== 'ignore')
          return { answer: answer as Settled<K>, owner };
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
   * A listener that throws, or does not answer in time, is skipped: the value goes on as it was.
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
          return this.#inTime(hook, answer).then(
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

function noSuchHook(hook: string, owner: string): TypeError {
  const known = hookNames.join(', ');
  return new TypeError(`Cannot hook "${hook}" for "${owner}": expected one of ${known}`);
}
