// What may stand in a table of names and passwords (credential-table.ts): names, and the schemes by which
// passwords are kept. Apart from it because configuration is read where no password is ever hashed.

/** How a password that is new is kept. */
export const credentialSchemes = ['argon2id', 'sha512', 'sha256', 'sha', 'md5', 'plain'] as const;
export type CredentialScheme = (typeof credentialSchemes)[number];

/** In UTF-16 units, which is what schemas count. */
export const credentialNameMax = 1024;
export const credentialPasswordMax = 1024;

/** Why no client could have this name, or nobody could read it in a list; undefined: it is fine. */
export function credentialNameFault(name: string): string | undefined {
  if (name === '' || name.length > credentialNameMax) {
    return `it has ${name.length} characters, expected 1 to ${credentialNameMax}`;
  }
  return /\p{Cc}/u.test(name) || !name.isWellFormed()
    ? 'it has characters that cannot be written, expected text'
    : undefined;
}
