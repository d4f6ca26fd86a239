// Listens to every hook there is and decides nothing: clients are let in or refused as without it.

import type { HookName, HookTable, WorkerContext } from '#sdk';
import type { TemplateSettings } from './config.ts';

type Calls = Partial<Record<HookName, number>>;

/** What each hook is answered by whoever has no opinion; told hooks are answered nothing. */
const noOpinion: Readonly<Record<HookName, 'ignore' | undefined>> = {
  'tls_handshake.psk_lookup': 'ignore',
  'client.check_ban': 'ignore',
  'client.authenticate': 'ignore',
  'client.enhanced_auth': 'ignore',
  'client.check_acl': 'ignore',
  'message.check_retained': 'ignore',
  'client.subscribe': undefined,
  'client.unsubscribe': undefined,
  'message.publish': undefined,
  'message.deliver': undefined,
  'client.connected': undefined,
  'client.disconnected': undefined,
  'session.created': undefined,
  'session.resumed': undefined,
  'session.subscribed': undefined,
  'session.unsubscribed': undefined,
  'session.terminated': undefined,
  'client.denied': undefined,
  'message.received': undefined,
  'message.refused': undefined,
  'message.routed': undefined,
  'message.queued': undefined,
  'message.sent': undefined,
  'message.acked': undefined,
  'message.dropped': undefined,
};

/** Counts on in what it answers. */
export function listenToAll(ctx: WorkerContext<TemplateSettings>): Readonly<Calls> {
  const calls: Calls = {};
  for (const hook of Object.keys(noOpinion) as HookName[]) {
    const seen = (): 'ignore' | undefined => {
      calls[hook] = (calls[hook] ?? 0) + 1;
      ctx.count('template.hooks');
      ctx.log.debug('template.hook', { hook });
      return noOpinion[hook];
    };
    ctx.hooks.on(hook, seen as HookTable[typeof hook]);
  }
  return calls;
}
