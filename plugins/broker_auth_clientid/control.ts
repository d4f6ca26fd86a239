// Keeps the client ids with their passwords.

import {
  type ControlPart,
  type CredentialSettings,
  type CredentialTable,
  loadPasswords,
} from '#sdk';

const part: ControlPart<CredentialSettings, CredentialTable> = async (ctx) => {
  const passwords = await loadPasswords();
  const table = new passwords.CredentialTable(ctx, ctx.settings);
  await table.addNew(ctx.settings.presets);
  ctx.answers({ find: (name: string) => table.find(name) });
  return table;
};

export default part;
