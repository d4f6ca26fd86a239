// Judges clients by their username, and talks SCRAM with those that want to.

import {
  loadPasswords,
  type StoredPassword,
  type StoredScram,
  type WorkerContext,
  type WorkerPart,
} from '#sdk';
import type { UsernameSettings } from './config.ts';

const part: WorkerPart<UsernameSettings> = async (ctx) => {
  const { credentialAuth } = await loadPasswords();
  const judge = credentialAuth({
    nameOf: ({ username }) => username,
    find: async (name) => (await ctx.ask('find', name)) as StoredPassword | undefined,
    count: (result) => ctx.count(`auth.username.${result}`),
  });
  ctx.hooks.on('client.authenticate', judge);
  if (ctx.settings.hasScram) await offerScram(ctx);
};

async function offerScram(ctx: WorkerContext<UsernameSettings>): Promise<void> {
  const { readScram, scramAuth } = await loadPasswords();
  const decoyKey = Buffer.from((await ctx.ask('decoyKey')) as string, 'base64');
  const talk = scramAuth(
    async (name) => {
      const kept = (await ctx.ask('findScram', name)) as StoredScram | undefined;
      return kept && readScram(kept);
    },
    { decoyKey },
  );
  ctx.hooks.on('client.enhanced_auth', async (step) => {
    const answer = await talk(step);
    if (answer !== 'ignore' && 'allow' in answer) {
      ctx.count(answer.allow ? 'auth.username.success' : 'auth.username.failure');
    }
    return answer;
  });
}

export default part;
