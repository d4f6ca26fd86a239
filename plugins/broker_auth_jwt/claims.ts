// What a token that is good says of its bearer: whether it is for this client at all, its name, whether
// it is a superuser. A claim that is wanted and missing is a claim that does not match.

import type { AuthVerdict, Credentials } from '#sdk';
import { readGrant } from './acl-claim.ts';
import type { Settings } from './config.ts';
import { TokenRefused } from './token-refused.ts';
import type { Claims } from './token-verifier.ts';

/** By it `ClientInfo.grant` is read again. */
export const grantName = 'broker_auth_jwt';

/** Throws TokenRefused. */
export function admit(claims: Claims, settings: Settings, shown: Credentials): AuthVerdict {
  checkExpected(claims, settings.expected, shown);
  const username = nameOf(claims, settings);
  const { exp } = claims;
  const isEnding = settings.endsWithToken && exp !== undefined;
  const acl = own(claims, settings.aclClaim);
  return {
    allow: true,
    isSuperuser:
      settings.superuserClaim !== undefined && own(claims, settings.superuserClaim) === true,
    ...(username !== undefined && { username }),
    ...(isEnding && { expiresAtMs: exp * 1000 + settings.leewayMs }),
    ...(acl !== undefined && { grant: { [grantName]: grantOf(acl, settings.aclClaim) } }),
  };
}

function checkExpected(
  claims: Claims,
  expected: Settings['expected'],
  { clientId, username }: Credentials,
): void {
  for (const [name, text] of expected) {
    const wanted = text === '%u' ? username : text === '%c' ? clientId : text;
    const found = own(claims, name);
    const values: readonly unknown[] = Array.isArray(found) ? found : [found];
    // A client that shows no name, or is still to be given an id, is nobody's.
    const isShown = wanted !== undefined && wanted !== '';
    if (!isShown || !values.some((value) => isSame(value, wanted))) {
      throw new TokenRefused('claim', name);
    }
  }
}

function isSame(value: unknown, wanted: string): boolean {
  if (typeof value === 'string') return value === wanted;
  return (typeof value === 'number' || typeof value === 'boolean') && String(value) === wanted;
}

/** Undefined: the name that CONNECT shows stands. */
function nameOf(claims: Claims, { from, usernameClaim }: Settings): string | null | undefined {
  if (usernameClaim === undefined && from === 'password') return undefined;
  const found = own(claims, usernameClaim ?? 'sub');
  if (typeof found === 'string' && found !== '') return found;
  if (usernameClaim !== undefined) throw new TokenRefused('username', usernameClaim);
  return null;
}

function grantOf(claim: unknown, name: string): ReturnType<typeof readGrant> {
  try {
    return readGrant(claim);
  } catch (error) {
    throw new TokenRefused('acl', `${name}: ${(error as Error).message}`, { cause: error });
  }
}

function own(claims: Claims, name: string): unknown {
  return Object.hasOwn(claims, name) ? claims[name] : undefined;
}
