// Runs in every worker. Listens to every hook there is and decides nothing: it can be loaded as it is.

import type { HookName, HookTable, WorkerPart } from '#sdk';
import type { TemplateSettings } from './config.ts';

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

const part: WorkerPart<TemplateSettings> = (ctx) => {
  const calls: Partial<Record<HookName, number>> = {};
  let { greeting } = ctx.settings;

  for (const hook of Object.keys(noOpinion) as HookName[]) {
    const seen = (): 'ignore' | undefined => {
      calls[hook] = (calls[hook] ?? 0) + 1;
      ctx.count('template.hooks');
      ctx.log.debug('template.hook', { hook });
      return noOpinion[hook];
    };
    ctx.hooks.on(hook, seen as HookTable[typeof hook]);
  }

  // What the control part shares comes to every worker, also to one that starts later.
  ctx.onShared((shared) => {
    greeting = shared as string;
  });

  ctx.hooks.on('client.connected', async ({ clientId }, reasonCode) => {
    if (reasonCode !== 0) return;
    ctx.log.debug('template.greeting', { greeting, clientId });
    // What only one thread can know is asked there.
    await ctx.ask('met', clientId);
  });

  // And the control part asks what each worker knows.
  ctx.answers({ calls: () => ({ ...calls }) });
};

export default part;
