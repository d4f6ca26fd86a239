// Hooks the events that are to be told, in every worker, and hands what they are to the lanes. Law: nothing
// here changes, delays or fails what the client does.

import {
  describeError,
  type HookTable,
  loadHttp,
  matches,
  type MessageView,
  type WorkerContext,
  type WorkerPart,
  workerPart,
} from '#sdk';
import { type Body, clientNames, connectedBody, messageBody, optionsOf } from './bodies.ts';
import { type HookEvent, metricOf, type WebHookSettings } from './config.ts';
import { Lanes } from './lanes.ts';

type Tell = (clientId: string, topic: string | undefined, body: () => Body) => void;

const part: WorkerPart<WebHookSettings> = workerPart<WebHookSettings>(async (ctx) => {
  const { HttpSender, JobFault } = await loadHttp();
  const { settings, clock, log } = ctx;
  const sender = new HttpSender({ ...settings, clock, isLinkLocalDenied: false });
  const lanes = new Lanes({
    ...{ settings, sender, clock },
    isPassing: (error) => error instanceof JobFault && error.isPassing,
    count: (fate) => ctx.count(fate),
    onChange: (error) => {
      if (error === undefined) log.info('web_hook.recovered', {});
      else log.warn('web_hook.failed', { error: describeError(error) });
    },
  });
  ctx.defer(() => {
    lanes.close();
    sender.close();
  });
  for (const [event, filters] of settings.rules) hookEvent(ctx, event, filters, lanes);
});

export default part;

function hookEvent(
  ctx: WorkerContext<WebHookSettings>,
  event: HookEvent,
  filters: readonly string[] | undefined,
  lanes: Lanes,
): void {
  const isWanted = (topic: string): boolean =>
    filters === undefined || filters.some((filter) => matches(filter, topic));
  const metric = metricOf(event);
  const tell: Tell = (clientId, topic, body) => {
    if (topic !== undefined && !isWanted(topic)) return;
    ctx.count(metric);
    if (lanes.isFull) ctx.count('web_hook.dropped');
    else lanes.offer(clientId, JSON.stringify(body()));
  };
  if (event === 'message.publish') {
    const call = (message: MessageView): void => {
      if (message.topic.startsWith('$SYS/')) return;
      tell(message.clientId, undefined, () => ({
        action: 'message_publish',
        ...messageBody(message, ctx.settings.encoding),
      }));
    };
    for (const filter of filters ?? [undefined]) ctx.watch(filter, call);
    return;
  }
  const hooks = hooksWith(tell, ctx.settings.encoding);
  // A listener of the table under its own name.
  ctx.hooks.on(event, hooks[event] as HookTable[typeof event]);
}

function hooksWith(
  tell: Tell,
  encoding: WebHookSettings['encoding'],
): Pick<HookTable, Exclude<HookEvent, 'message.publish'>> {
  return {
    'client.connected': (client, reasonCode) => {
      if (reasonCode === 0) tell(client.clientId, undefined, () => connectedBody(client));
    },
    'client.disconnected': (client, reason) => {
      const body = { action: 'client_disconnected', ...clientNames(client), reason };
      tell(client.clientId, undefined, () => body);
    },
    'client.subscribe': (client, filters) => {
      for (const { filter: topic, ...options } of filters) {
        const names = clientNames(client);
        const opts = optionsOf(options);
        tell(client.clientId, topic, () => ({ action: 'client_subscribe', ...names, topic, opts }));
      }
      return undefined;
    },
    'client.unsubscribe': (client, filters) => {
      for (const topic of filters) {
        const body = { action: 'client_unsubscribe', ...clientNames(client), topic, opts: {} };
        tell(client.clientId, topic, () => body);
      }
      return undefined;
    },
    'session.created': (client) => {
      tell(client.clientId, undefined, () => ({
        action: 'session_created',
        ...clientNames(client),
      }));
    },
    'session.subscribed': ({ clientId }, { filter: topic, ...options }) => {
      const opts = optionsOf(options);
      const body = { action: 'session_subscribed', client_id: clientId, topic, opts };
      tell(clientId, topic, () => body);
    },
    'session.unsubscribed': ({ clientId }, topic) => {
      tell(clientId, topic, () => ({ action: 'session_unsubscribed', client_id: clientId, topic }));
    },
    'session.terminated': (clientId, _username, reason) => {
      tell(clientId, undefined, () => ({
        action: 'session_terminated',
        client_id: clientId,
        reason,
      }));
    },
    'message.deliver': (client, message) => {
      tell(client.clientId, message.topic, () => ({
        action: 'message_deliver',
        ...clientNames(client),
        ...messageBody(message, encoding),
      }));
      return undefined;
    },
    'message.acked': ({ clientId }, message) => {
      tell(clientId, message.topic, () => ({
        action: 'message_acked',
        client_id: clientId,
        ...messageBody(message, encoding),
      }));
    },
  };
}
