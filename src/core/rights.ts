// What clients were allowed and refused, remembered for a while: asking costs a run through rules, or a
// question to another machine, and a device asks the same thing with every publish. Laws: nothing is
// remembered longer than `acl_cache_ttl`, nor past `forgetAll` (rules or hooks have changed); a client
// has at most `acl_cache_max_size` answers.

import type { AclSettings } from '#config/settings';
import type { Route } from './router.ts';

export type RightsAction = 'publish' | 'subscribe';

/** Of one worker. */
export class Rights {
  /** Answers of another epoch hold no longer. */
  epoch = 0;
  readonly settings: AclSettings;
  readonly #nowMs: () => number;

  constructor(settings: AclSettings, nowMs: () => number) {
    this.settings = settings;
    this.#nowMs = nowMs;
  }

  get nowMs(): number {
    return this.#nowMs();
  }

  forgetAll(): void {
    this.epoch++;
  }
}

interface Remembered {
  /** A promise while somebody is still being asked. */
  answer: boolean | Promise<boolean>;
  untilMs: number;
}

export interface RememberedRight {
  readonly action: RightsAction;
  readonly topic: string;
  readonly isAllowed: boolean;
  readonly ageMs: number;
}

type Answers = Map<string, Remembered>;

/** Of one connection. By topic and action apart: the data path looks a topic up with every publish. */
export class RightsMemory {
  readonly #rights: Rights;
  readonly #publish: Answers = new Map();
  readonly #subscribe: Answers = new Map();
  #epoch: number;
  /** The Route that the client was last allowed to publish along, and how long that holds. */
  #route: Route | null = null;
  #routeUntilMs = 0;

  constructor(rights: Rights) {
    this.#rights = rights;
    this.#epoch = rights.epoch;
  }

  /** A device publishes to the same topic again and again: this is asked with every publish. */
  isLastAllowed(route: Route): boolean {
    const { epoch, nowMs } = this.#rights;
    return route === this.#route && this.#epoch === epoch && nowMs < this.#routeUntilMs;
  }

  /** `isAsked` false: it follows from the settings and holds until somebody is to be asked, which is another epoch. */
  allowLast(route: Route, isAsked: boolean): void {
    if (this.#epoch !== this.#rights.epoch) this.forget();
    this.#route = route;
    this.#routeUntilMs = isAsked
      ? (this.#publish.get(route.topic)?.untilMs ?? 0)
      : Number.POSITIVE_INFINITY;
  }

  recall(action: RightsAction, topic: string): boolean | Promise<boolean> | undefined {
    if (this.#epoch !== this.#rights.epoch) this.forget();
    const answers = this.#of(action);
    const found = answers.get(topic);
    if (found === undefined || found.untilMs > this.#rights.nowMs) return found?.answer;
    answers.delete(topic);
    return undefined;
  }

  /** `isFinal` is asked when the answer is there: one that nobody could give is not kept. */
  remember(
    action: RightsAction,
    topic: string,
    answer: boolean | Promise<boolean>,
    isFinal: () => boolean = () => true,
  ): void {
    if (this.#epoch !== this.#rights.epoch) this.forget();
    const answers = this.#of(action);
    answers.delete(topic);
    this.#makeRoom();
    if (typeof answer === 'boolean') {
      if (isFinal()) answers.set(topic, { answer, untilMs: this.#dueMs() });
      return;
    }
    const pending: Remembered = { answer, untilMs: Number.POSITIVE_INFINITY };
    answers.set(topic, pending);
    void answer.then((isAllowed) => {
      if (answers.get(topic) !== pending) return;
      if (isFinal()) {
        pending.answer = isAllowed;
        pending.untilMs = this.#dueMs();
      } else answers.delete(topic);
    });
  }

  forget(): void {
    this.#publish.clear();
    this.#subscribe.clear();
    this.#route = null;
    this.#epoch = this.#rights.epoch;
  }

  list(): RememberedRight[] {
    if (this.#epoch !== this.#rights.epoch) this.forget();
    return [...this.#listed('publish'), ...this.#listed('subscribe')];
  }

  *#listed(action: RightsAction): Generator<RememberedRight> {
    const { nowMs, settings } = this.#rights;
    for (const [topic, { answer, untilMs }] of this.#of(action)) {
      if (typeof answer !== 'boolean' || untilMs <= nowMs) continue;
      const ageMs = settings.cacheTtlMs - (untilMs - nowMs);
      yield { action, topic, isAllowed: answer, ageMs };
    }
  }

  /** The oldest of the action that has more of them gives way. */
  #makeRoom(): void {
    if (this.#publish.size + this.#subscribe.size < this.#rights.settings.cacheMax) return;
    const fuller = this.#publish.size >= this.#subscribe.size ? this.#publish : this.#subscribe;
    for (const oldest of fuller.keys()) {
      fuller.delete(oldest);
      return;
    }
  }

  #of(action: RightsAction): Answers {
    return action === 'publish' ? this.#publish : this.#subscribe;
  }

  #dueMs(): number {
    return this.#rights.nowMs + this.#rights.settings.cacheTtlMs;
  }
}
