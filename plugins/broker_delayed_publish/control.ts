// Keeps what workers hand over and publishes it when it is due: one look a second, whatever waits. Law: a
// message goes from the disk only after it was accepted by everybody it concerns, so that a crash in
// between publishes it again and never loses it.

import { type ControlContext, type ControlPart, describeError } from '#sdk';
import type { DelayedSettings } from './config.ts';
import { type DelayedHead, type DelayedMessage, DelayedMessages } from './delayed-messages.ts';

export interface DelayedService {
  readonly messages: DelayedMessages;
  /** False: there is none, or it is being published. */
  forget(id: number): Promise<boolean>;
}

const lookMs = 1000;
/** Published side by side, in their order. */
const batchMax = 64;

const part: ControlPart<DelayedSettings, DelayedService> = (context) => {
  const { clock } = context;
  const messages = new DelayedMessages({
    records: (kind) => context.records(kind),
    flushed: () => context.flushed(),
    messagesMax: context.settings.messagesMax,
  });
  context.answers({ delay: (message: DelayedMessage) => messages.add(message, clock.nowMs()) });
  const publisher = new DuePublisher(context, messages);
  context.every(lookMs, () => publisher.look());
  return { messages, forget: (id) => publisher.forget(id) };
};

export default part;

class DuePublisher {
  readonly #context: ControlContext<DelayedSettings>;
  readonly #messages: DelayedMessages;
  readonly #sending = new Set<number>();
  #isFirst = true;
  #isFailing = false;

  constructor(context: ControlContext<DelayedSettings>, messages: DelayedMessages) {
    this.#context = context;
    this.#messages = messages;
  }

  async look(): Promise<void> {
    // By now the reading of the plugin that was here before has ended.
    if (this.#isFirst) this.#messages.recount();
    this.#isFirst = false;
    const { clock, signal } = this.#context;
    while (!signal.aborted) {
      const due = this.#messages.due(clock.nowMs(), batchMax);
      if (due.length === 0 || !(await this.#publish(due)) || due.length < batchMax) return;
    }
  }

  async forget(id: number): Promise<boolean> {
    const head = this.#messages.find(id);
    if (head === undefined || this.#sending.has(id)) return false;
    await this.#messages.remove([head]);
    return true;
  }

  /** False: some stay for the next look. */
  async #publish(due: readonly DelayedHead[]): Promise<boolean> {
    for (const { id } of due) this.#sending.add(id);
    try {
      const outcomes = await Promise.all(due.map((head) => this.#publishOne(head)));
      const done = due.filter((_, i) => outcomes[i] === true);
      await this.#messages.remove(done);
      return this.#told(outcomes.find((outcome) => outcome !== true));
    } catch (error) {
      return this.#told(error);
    } finally {
      for (const { id } of due) this.#sending.delete(id);
    }
  }

  /** True: it is done with. Otherwise why not. */
  async #publishOne(head: DelayedHead): Promise<unknown> {
    const { topic, qos, retain, clientId, hops } = head;
    const { log } = this.#context;
    const body = this.#messages.bodyOf(head);
    if (body === undefined) {
      log.error('delayed.lost', { topic, id: head.id });
      return true;
    }
    const { payload, properties } = body;
    try {
      await this.#context.publish({
        ...{ topic, payload, qos, retain, clientId, hops },
        ...(properties === undefined ? {} : { properties }),
      });
      this.#context.count('delayed.published');
      return true;
    } catch (error) {
      // Errors lose their class on the way from thread to thread, not their name.
      if ((error as Error).name !== 'PublishRefused') return error;
      this.#context.count('delayed.refused');
      log.warn('delayed.refused', { topic, clientId, error: describeError(error) });
      return true;
    }
  }

  #told(failure: unknown): boolean {
    const { log } = this.#context;
    if (failure !== undefined && !this.#isFailing) {
      log.warn('delayed.publish_failed', { error: describeError(failure) });
    }
    this.#isFailing = failure !== undefined;
    return !this.#isFailing;
  }
}
