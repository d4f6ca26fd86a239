// Runs in every worker, where the clients are: greets who comes, and tells the control part.

import type { WorkerPart } from '#sdk';
import type { TemplateSettings } from './config.ts';
import { listenToAll } from './every-hook.ts';

const part: WorkerPart<TemplateSettings> = (ctx) => {
  let { greeting } = ctx.settings;

  // What the control part shares comes to every worker, also to one that starts later.
  ctx.onShared((shared) => {
    greeting = shared as string;
  });

  ctx.hooks.on('client.connected', async ({ clientId }, reasonCode) => {
    if (reasonCode !== 0) return;
    ctx.count('template.seen');
    ctx.log.debug('template.greeting', { greeting, clientId });
    // What only one thread can know is asked there.
    await ctx.ask('met', clientId);
  });

  const calls = listenToAll(ctx);
  // And the control part asks what each worker knows.
  ctx.answers({ calls: () => ({ ...calls }) });
};

export default part;
