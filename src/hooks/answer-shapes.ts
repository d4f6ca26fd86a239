// What an answer to an asked hook has to look like. Law: an answer of another form is a fault of its
// listener, told under his name, and opens no door: types do not hold for code that comes from elsewhere.

import type { AskedHook } from './table.ts';

type Fields = Readonly<Record<string, unknown>>;

const isAnswer: Readonly<Record<AskedHook, (answer: unknown) => boolean>> = {
  'tls_handshake.psk_lookup': (answer) => answer instanceof Uint8Array,
  'client.check_ban': (answer) => answer === 'banned',
  'client.authenticate': isVerdict,
  'client.enhanced_auth': (answer) => isStep(answer) || isVerdict(answer),
  'client.check_acl': (answer) =>
    answer === 'allow' || answer === 'deny' || answer === 'unavailable',
  'message.check_retained': (answer) => answer === 'allow' || answer === 'deny',
};

/** The answer itself; throws for one that is none. */
export function checkedAnswer(hook: AskedHook, answer: unknown): unknown {
  if (answer === 'ignore' || isAnswer[hook](answer)) return answer;
  throw new TypeError(`Cannot use the answer to ${hook}: it has none of the forms of this hook`);
}

function isVerdict(answer: unknown): boolean {
  if (typeof answer !== 'object' || answer === null) return false;
  const { allow, reasonCode, isSuperuser, mountpoint, username, expiresAtMs, grant } =
    answer as Fields;
  if (username !== null && !isMaybe('string', username)) return false;
  if (allow === false) return isRefusal(reasonCode);
  if (!isMaybe('number', expiresAtMs) || Number.isNaN(expiresAtMs)) return false;
  const isPlain = isMaybe('boolean', isSuperuser) && isMaybe('string', mountpoint);
  return allow === true && isPlain && isMaybe('object', grant);
}

function isRefusal(code: unknown): boolean {
  return Number.isInteger(code) && (code as number) >= 0x80 && (code as number) <= 0xff;
}

function isStep(answer: unknown): boolean {
  return typeof answer === 'object' && answer !== null && (answer as Fields)['continue'] === true;
}

function isMaybe(type: 'boolean' | 'string' | 'number' | 'object', value: unknown): boolean {
  return value === undefined || typeof value === type;
}
