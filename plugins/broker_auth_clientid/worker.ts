// Judges clients by their client id.

import { loadPasswords, type CredentialSettings, type StoredPassword, type WorkerPart } from '#sdk';

const part: WorkerPart<CredentialSettings> = async (ctx) => {
  const { credentialAuth } = await loadPasswords();
  const judge = credentialAuth({
    nameOf: ({ clientId }) => clientId,
    find: async (name) => (await ctx.ask('find', name)) as StoredPassword | undefined,
    count: (result) => ctx.count(`auth.clientid.${result}`),
  });
  ctx.hooks.on('client.authenticate', judge);
};

export default part;
