// The hook inside every single delivery: whoever listens may change the copy of one client, or drop it.

import type { Hooks } from '#hooks/runner';
import type { ClientInfo } from '#hooks/table';
import type { Message } from './message.ts';

/** Undefined: it is not to be delivered. One that throws is passed over. */
export function askDeliver(
  hooks: Hooks,
  client: ClientInfo,
  message: Message,
): Message | undefined {
  let seen = message;
  for (const { owner, call } of hooks.listeners('message.deliver') ?? []) {
    try {
      const answer = call(client, seen);
      if (answer === 'drop') return undefined;
      if (answer !== undefined) seen = seen.with(answer);
    } catch (error) {
      hooks.report('message.deliver', owner, error);
    }
  }
  return seen;
}
