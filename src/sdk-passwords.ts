// The third room behind the door of plugins (sdk.ts): passwords that the broker itself keeps, and SCRAM.
// Apart from it because few plugins need it, and every worker would load it; `loadPasswords` of #sdk opens it.

export { credentialAuth } from '#access/credential-auth';
export { CredentialTable } from '#access/credential-table';
export { scramAuth } from '#access/scram-auth';
export { readScram } from '#access/stored-scram';
