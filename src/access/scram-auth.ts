// SCRAM-SHA-256 as a method of MQTT 5's enhanced authentication: the messages of a ScramServer inside
// CONNECT, AUTH and CONNACK. Laws: a client is let in as the user of its exchange and as nobody else,
// at CONNECT and ever after; every refusal looks the same for unknown users and wrong passwords.

import { invariant } from '#base/assert';
import type { AuthAnswer, AuthStep, HookTable } from '#hooks/table';
import {
  type ScramFinal,
  type ScramFirst,
  type ScramLookup,
  type ScramOptions,
  type ScramRefusal,
  ScramServer,
} from './scram.ts';
import { ScramError, saslPrep } from './scram-messages.ts';

/** What clients write into `Authentication Method`. There is no channel binding, hence no -PLUS. */
export const scramMethod = 'SCRAM-SHA-256';

/** For name and proof, but in CONNACK only: a DISCONNECT cannot carry it (MQTT 5.0, table 3-10). */
const badUsernameOrPassword = 0x86;
/** For everything else: what is malformed here is no MQTT packet, hence neither 0x81 nor 0x82. */
const notAuthorized = 0x87;

const decoyKeyBytesMin = 16;
const noData: Buffer = Buffer.alloc(0);

/** What lies in `exchange.state` between the steps. */
interface Progress {
  readonly server: ScramServer;
  /** The client-first-message has come; the next one is the last. */
  isUnderWay: boolean;
}

/**
 * A listener for `client.enhanced_auth`. It decides about every client of the method and passes none
 * on: a second one behind it would have to learn that this one does not know a user. When the lookup
 * rejects, so does the listener, and the core refuses the client.
 */
export function scramAuth(
  lookup: ScramLookup,
  options: ScramOptions,
): HookTable['client.enhanced_auth'] {
  invariant(options.decoyKey.length >= decoyKeyBytesMin, 'a decoy key has 16 bytes at least');
  return (step) => {
    if (step.method !== scramMethod) return 'ignore';
    const { exchange, data = noData } = step;
    if (exchange.state === undefined) {
      exchange.state = {
        server: new ScramServer(lookup, options),
        isUnderWay: false,
      } satisfies Progress;
      // The client wants to speak first and has not yet: an empty challenge asks it to (RFC 4422,
      // section 5). Once only, because an empty client-first-message is refused below.
      if (data.length === 0) return { continue: true };
    }
    const progress = exchange.state as Progress;
    if (progress.isUnderWay) return conclude(progress.server.final(data), step);
    progress.isUnderWay = true;
    return progress.server.first(data).then((answer) => challenge(answer, step));
  };
}

function challenge(answer: ScramFirst, step: AuthStep): AuthAnswer {
  if (!answer.ok) return refuse(step, answer.fault, answer.reason);
  return { continue: true, data: answer.serverFirst };
}

function conclude(answer: ScramFinal, step: AuthStep): AuthAnswer {
  if (!answer.ok) return refuse(step, answer.fault, answer.reason);
  const { username, serverFinal } = answer;
  if (isOwnName(step, username)) return { allow: true, data: serverFinal, username };
  // Not before the proof: only the one user learns that it cannot be the other.
  return refuse(step, 'name', 'Cannot authenticate: the username is not the one that connects');
}

/**
 * At CONNECT a client may leave the username to SCRAM; one that is connected has a name and keeps it.
 * A certificate that gives the username is such a name at CONNECT already.
 */
function isOwnName({ credentials, isReauthentication }: AuthStep, username: string): boolean {
  const given = credentials.username;
  if (given === undefined) return !isReauthentication;
  try {
    return given === username || saslPrep(given) === username;
  } catch (error) {
    if (error instanceof ScramError) return false;
    throw error;
  }
}

function refuse(step: AuthStep, fault: ScramRefusal['fault'] | 'name', text: string): AuthAnswer {
  const isTold = fault !== 'message' && !step.isReauthentication;
  return { allow: false, reasonCode: isTold ? badUsernameOrPassword : notAuthorized, text };
}
