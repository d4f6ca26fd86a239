// An exchange of AUTH packets under way, as the connection keeps it between them.

import type { AuthAnswer, Credentials } from '#hooks/table';
import type { Wait } from './ports.ts';

/** Yes or no: the end of an AUTH exchange. */
export type AuthOutcome = Exclude<AuthAnswer, { continue: true }>;

/** An AUTH exchange under way; see enhanced-auth.ts. */
export interface AuthExchange {
  readonly method: string;
  readonly credentials: Credentials;
  readonly isReauthentication: boolean;
  readonly exchange: { state?: unknown };
  /** What waits for the outcome: a CONNECT, or the connection of a client that is connected. */
  readonly settle: (outcome: AuthOutcome) => Wait;
}
