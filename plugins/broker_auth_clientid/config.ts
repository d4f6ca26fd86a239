// auth.client.*: how passwords of client ids are kept, and which client ids there are from the start.

import { credentialKeys, type CredentialKeys } from '#sdk';

export const clientKeys: CredentialKeys = credentialKeys('auth.client', 'clientid', 'sensor-1');
