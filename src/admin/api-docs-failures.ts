// What each failure of the closed table means, for readers of the documentation.

import { type FailureName, OperatingError } from './failures.ts';

export const failureMeanings: Readonly<Record<FailureName, string>> = {
  badCall: 'a worker or another node did not answer',
  failed: 'it could not be done; the message says why',
  badCredentials: 'username or password wrong',
  emptyCredentials: 'username or password empty',
  unknownUser: 'the user does not exist',
  adminStays: 'the user admin cannot be deleted',
  missing: 'a parameter is missing; the message names it',
  invalid: 'a parameter is wrong; the message says what was found and what is wanted',
  notJson: 'the body is not JSON',
  notOnline: 'the client is not connected, or has no session',
  userExists: 'the user exists already',
  wrongOldPassword: 'the old password is wrong',
  badTopic: 'none of the topics can be used: empty, or with wildcards where none may be',
  badRule: 'a rule, its SQL or one of its actions is wrong; the message says where and why',
  unauthorized: 'no credentials, or wrong ones',
  forbidden: 'a page of another site has sent it',
  notFound: 'there is no such path, node, plugin or thing',
  noRule: 'there is no such rule, or the SQL that was tested does not match',
  resourceDown: 'a resource that was tested does not come alive',
  tooLarge: 'the body is too large',
  tooMany: 'too many tries with wrong credentials from this address',
  internal: 'our fault; the log of the node has the details',
};

export interface FailureRow {
  readonly code: number;
  readonly status: number;
  readonly meaning: string;
}

/** By code. */
export function failureRows(): FailureRow[] {
  return Object.entries(failureMeanings)
    .map(([kind, meaning]) => {
      const { code, status } = new OperatingError(kind as FailureName, '');
      return { code, status, meaning };
    })
    .sort((a, b) => a.code - b.code);
}
