// What can go wrong with an operation, as a closed table: the code and the words that clients of the API
// know. Law: whatever the outside world did is one of these; anything else that is thrown is our own
// fault, and its inner details are not told.

export interface Failure {
  readonly code: number;
  /** HTTP status; 200 where clients read `code` alone. */
  readonly status: number;
}

export type FailureName =
  | 'badCall'
  | 'failed'
  | 'badCredentials'
  | 'emptyCredentials'
  | 'unknownUser'
  | 'adminStays'
  | 'missing'
  | 'invalid'
  | 'notJson'
  | 'notOnline'
  | 'userExists'
  | 'wrongOldPassword'
  | 'badTopic'
  | 'badRule'
  | 'unauthorized'
  | 'forbidden'
  | 'notFound'
  | 'noRule'
  | 'resourceDown'
  | 'tooLarge'
  | 'tooMany'
  | 'internal';

const failures: Readonly<Record<FailureName, Failure>> = {
  /** A worker or another node could not be asked. */
  badCall: { code: 101, status: 200 },
  failed: { code: 102, status: 200 },
  badCredentials: { code: 103, status: 200 },
  emptyCredentials: { code: 104, status: 200 },
  unknownUser: { code: 105, status: 200 },
  adminStays: { code: 106, status: 200 },
  missing: { code: 107, status: 200 },
  invalid: { code: 108, status: 200 },
  notJson: { code: 109, status: 400 },
  notOnline: { code: 112, status: 200 },
  userExists: { code: 113, status: 200 },
  wrongOldPassword: { code: 114, status: 200 },
  badTopic: { code: 115, status: 200 },
  badRule: { code: 400, status: 200 },
  unauthorized: { code: 401, status: 401 },
  forbidden: { code: 403, status: 403 },
  notFound: { code: 404, status: 404 },
  noRule: { code: 404, status: 200 },
  resourceDown: { code: 500, status: 200 },
  tooLarge: { code: 413, status: 413 },
  tooMany: { code: 429, status: 429 },
  internal: { code: 500, status: 500 },
};

/** An operation could not be done for a reason that lies outside. `message` is for the client. */
export class OperatingError extends Error {
  override readonly name = 'OperatingError';
  readonly code: number;
  readonly status: number;

  constructor(kind: FailureName, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = failures[kind].code;
    this.status = failures[kind].status;
  }
}
