// What happens to a message once it is accepted, wherever it came from: a client, a will, the
// management API. Retained if it says so, then to everyone subscribed. Answers how many copies were
// made; what an acknowledgement must wait for is left in `wait`.

import { topicNameFault } from '#topics/topic';
import type { Hooks } from '#hooks/runner';
import type { MessageRefusal } from '#hooks/table';
import type { Message } from './message.ts';
import { Metric, type Metrics } from './metrics.ts';
import type { Wait } from './ports.ts';
import type { Retained } from './retained.ts';
import type { Route, Router } from './router.ts';

/** A hook has refused the message. */
export class PublishRefused extends Error {
  override readonly name = 'PublishRefused';
  /** Of MQTT 5. */
  readonly code: number;

  constructor({ refuse, text }: MessageRefusal) {
    super(text);
    this.code = refuse;
  }
}

export class Publishing {
  readonly #hooks: Hooks;
  readonly #router: Router;
  readonly #retained: Retained;
  readonly #metrics: Metrics;
  /** Of the last `accept`. Take it before anything else is published. */
  wait: Wait;

  constructor(parts: { hooks: Hooks; router: Router; retained: Retained; metrics: Metrics }) {
    this.#hooks = parts.hooks;
    this.#router = parts.router;
    this.#retained = parts.retained;
    this.#metrics = parts.metrics;
  }

  /**
   * The `message.publish` hook; `undefined`: somebody dropped the message, sees to it himself, or refuses
   * it, which `onRefused` is told before.
   */
  ask(
    message: Message,
    onRefused?: (refusal: MessageRefusal) => void,
  ): Message | undefined | Promise<Message | undefined> {
    if (this.#hooks.lists['message.publish'] === null) return message;
    return this.#hooks.fold(
      'message.publish',
      message.own(),
      (call, folded) => call(folded),
      (folded, answer) => {
        if (answer === undefined) return folded;
        if (answer === 'taken') return undefined;
        if (answer === 'drop') {
          this.#metrics.add(Metric.messagesDropped);
          this.#hooks.tell('message.dropped', folded, 'refused_by_hook', undefined);
          return undefined;
        }
        if ('refuse' in answer) {
          onRefused?.(answer);
          return undefined;
        }
        if (answer.topic !== undefined) refuseBadTopic(answer.topic);
        return folded.with(answer);
      },
    );
  }

  accept(message: Message, route: Route): number {
    this.wait = message.retain ? this.#retain(message) : undefined;
    // Hooks may have taken their time: subscriptions can have changed since the route was found.
    let fresh = this.#router.refresh(route);
    if (this.#hooks.lists['message.routed'] !== null) {
      this.#hooks.tell('message.routed', message.own(), fresh);
      fresh = this.#router.refresh(fresh);
    }
    if (fresh.watchers.length > 0) fresh = this.#show(message, fresh);
    const copies = this.#router.dispatch(message, fresh, this);
    if (copies === 0) this.#dropUnheard(message);
    return copies;
  }

  #show(message: Message, route: Route): Route {
    message.own();
    for (const watcher of route.watchers) watcher(message);
    return this.#router.refresh(route);
  }

  #dropUnheard(message: Message): void {
    this.#metrics.add(Metric.messagesDropped);
    if (this.#hooks.lists['message.dropped'] === null) return;
    this.#hooks.tell('message.dropped', message.own(), 'no_subscribers', undefined);
  }

  /** A store that cannot be read refuses like one that cannot be written. */
  #retain(message: Message): Wait {
    try {
      return this.#retained.put(message);
    } catch (error) {
      return Promise.reject(error as Error);
    }
  }

  /**
   * The whole way, for messages that no connection brought. Resolves when it is safe to confirm;
   * `onAccepted` is called in the turn in which the message is accepted, or a hook has had the last word.
   * Rejects with PublishRefused where that was a no.
   */
  async publish(message: Message, onAccepted?: () => void): Promise<number> {
    refuseBadTopic(message.topic);
    this.#hooks.tell('message.received', message, false);
    const refusals: MessageRefusal[] = [];
    const asked = await this.ask(message, (refusal) => refusals.push(refusal));
    const copies = asked === undefined ? 0 : this.accept(asked, this.#router.routeTo(asked.topic));
    const wait = asked === undefined ? undefined : this.wait;
    onAccepted?.();
    for (const refusal of refusals) {
      this.#hooks.tell('message.refused', message, refusal.refuse, refusal.text);
      throw new PublishRefused(refusal);
    }
    await wait;
    return copies;
  }
}

/** The router remembers topics as valid: none may get there that is not. */
function refuseBadTopic(topic: string): void {
  const fault = topicNameFault(topic);
  if (fault !== undefined) throw new RangeError(`Cannot publish to "${topic}": ${fault}`);
}
