// /auth_clientid and the commands `clientid …`.

import type { CredentialTable } from '#sdk';
import { type AnyOperation, credentialOperations } from '#sdk/operations';

export default (table: CredentialTable): AnyOperation[] =>
  credentialOperations(table, {
    field: 'clientid',
    argument: 'ClientId',
    words: 'client id',
    command: 'clientid',
    tag: 'Client ids with passwords',
    sample: 'sensor-7',
  });
