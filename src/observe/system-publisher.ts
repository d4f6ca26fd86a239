// Publishing under `$SYS/` from inside a worker. Laws: what nobody wants costs a look at the filters and
// leaves nothing behind in the router's memory; and these messages are counted neither as dropped nor,
// as far as they leave at once, as sent.

import type { QoS } from '#wire/packet';
import type { Core } from '#core/context';
import { Message, type Publisher } from '#core/message';
import type { Wait } from '#core/ports';
import { unpromised } from '#core/wait';

/** A message as it goes from thread to thread. */
export interface SystemEntry {
  readonly topic: string;
  readonly payload: string;
  readonly qos: QoS;
  readonly retain: boolean;
}

/** No client has this id. */
const broker: Publisher = { clientId: '', username: undefined, address: '', port: 0 };

export function publishSystem(core: Core, entry: SystemEntry): void {
  if (!entry.retain && !isWanted(core, entry.topic)) return;
  const message = messageOf(core, entry);
  core.hooks.tell('message.received', message, false);
  const asked = core.publishing.ask(message);
  if (asked instanceof Promise) void asked.then((late) => accept(core, late));
  else accept(core, asked);
}

/** Keeps it for those who will subscribe in this worker; sends it to nobody. */
export function retainSystem(core: Core, entry: SystemEntry): void {
  unpromised(core.retained.put(messageOf(core, entry)));
}

/** By a subscriber in whichever worker, or by a hook or a watcher that sees messages. */
export function isWanted({ hooks, filters }: Core, topic: string): boolean {
  const { lists } = hooks;
  if (lists['message.publish'] !== null || lists['message.received'] !== null) return true;
  if (lists['message.routed'] !== null || filters.watchingAll.size > 0) return true;
  return filters.match(topic).length > 0;
}

function messageOf(core: Core, { topic, payload, qos, retain }: SystemEntry): Message {
  const bytes = Buffer.from(payload, 'utf8');
  return new Message(topic, bytes, qos, retain, undefined, broker, core.clock.nowMs());
}

function accept(core: Core, message: Message | undefined): void {
  if (message === undefined) return;
  const { retained, router, metrics, hooks } = core;
  if (message.retain) unpromised(retained.put(message));
  const route = router.routeTo(message.topic);
  hooks.tell('message.routed', message, route);
  for (const watcher of route.watchers) watcher(message);
  const fresh = router.refresh(route);
  const waits: { wait: Wait } = { wait: undefined };
  metrics.withoutSent(() => router.dispatch(message, fresh, waits));
  unpromised(waits.wait);
}
