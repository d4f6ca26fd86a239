// /auth_username and the commands `users …`.

import type { CredentialTable } from '#sdk';
import { type AnyOperation, credentialOperations } from '#sdk/operations';

export default (table: CredentialTable): AnyOperation[] =>
  credentialOperations(table, {
    field: 'username',
    argument: 'Username',
    words: 'username',
    command: 'users',
    tag: 'Users with passwords',
    sample: 'ada',
  });
