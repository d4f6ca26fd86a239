// Whether there is a way to verify tokens with these settings: asked at each start, and by `broker config
// check`.

import { readFile, stat } from 'node:fs/promises';
import { type CheckPart, describeError } from '#sdk';
import { type Algorithm, secretAlgorithms } from './algorithms.ts';
import type { Settings } from './config.ts';
import { pemBytesMax, readPems } from './public-keys.ts';

const check: CheckPart<Settings> = async (settings) => {
  checkSources(settings);
  const { publicKeyFile } = settings;
  if (publicKeyFile === undefined) return [];
  try {
    await readFileKeys(publicKeyFile);
  } catch (error) {
    throw unreadable(publicKeyFile, error);
  }
  return [];
};

export default check;

/** Nothing that was configured may be without effect, least of all by mistake. */
export function checkSources({ secret, publicKeyFile, jwks, algorithms }: Settings): void {
  if ((secret ?? publicKeyFile ?? jwks) === undefined) {
    const wanted = 'auth.jwt.secret, auth.jwt.pubkey or auth.jwt.jwks';
    throw new Error(`Cannot verify tokens: found no key, want ${wanted}`);
  }
  const isSecret = (one: Algorithm): boolean => secretAlgorithms.includes(one);
  const unused =
    secret !== undefined && !algorithms.some(isSecret)
      ? 'auth.jwt.secret'
      : publicKeyFile !== undefined && algorithms.every(isSecret)
        ? 'auth.jwt.pubkey'
        : jwks !== undefined && algorithms.every(isSecret)
          ? 'auth.jwt.jwks'
          : undefined;
  if (unused === undefined) return;
  const found = algorithms.join(',');
  throw new Error(`Cannot use ${unused}: auth.jwt.algorithms = ${found} has none for such a key`);
}

export async function readFileKeys(file: string): Promise<readonly string[]> {
  const { size } = await stat(file);
  if (size > pemBytesMax) throw new Error(`found ${size} bytes, want at most ${pemBytesMax}`);
  return readPems(await readFile(file, 'utf8'));
}

export function unreadable(file: string, cause: unknown): Error {
  return new Error(`Cannot read auth.jwt.pubkey "${file}": ${describeError(cause)}`, { cause });
}
