// Keeps the users with their passwords, and the key by which SCRAM shows unknown users the same face each
// time.

import { randomBytes } from 'node:crypto';
import { type ControlContext, type ControlPart, type CredentialTable, loadPasswords } from '#sdk';
import type { UsernameSettings } from './config.ts';

const decoyKeyBytes = 32;

const part: ControlPart<UsernameSettings, CredentialTable> = async (ctx) => {
  const passwords = await loadPasswords();
  const table = new passwords.CredentialTable(ctx, ctx.settings);
  await table.addNew(ctx.settings.presets);
  const decoyKey = ctx.settings.hasScram ? await keptDecoyKey(ctx) : '';
  ctx.answers({
    find: (name: string) => table.find(name),
    findScram: (name: string) => table.findScram(name),
    decoyKey: () => decoyKey,
  });
  return table;
};

/** In base64. Kept as long as the users are: see ScramOptions. */
async function keptDecoyKey(ctx: ControlContext<UsernameSettings>): Promise<string> {
  const secrets = ctx.records('secrets');
  const known = secrets.get('decoy_key');
  if (typeof known === 'string') return known;
  const made = randomBytes(decoyKeyBytes).toString('base64');
  secrets.put('decoy_key', made);
  await ctx.flushed();
  return made;
}

export default part;
