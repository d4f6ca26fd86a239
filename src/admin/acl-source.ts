// Access rules from a file or a request: read, checked, and refused with every place that is wrong. Law:
// what cannot be read whole is not used at all (CVE-2017-7652), and nothing is read before its size is
// known.

import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { showPath } from '#config/sources';
import { type AclRule, parseAcl } from '#access/acl-file';
import { AclError, aclCharactersMax } from '#access/acl-terms';

/** The text, and what it says. */
export interface AclSource {
  readonly text: string;
  readonly rules: readonly AclRule[];
}

/** No rules: `message` says why, for whoever wrote them. */
export class AclUnusable extends Error {
  override readonly name = 'AclUnusable';
}

/** Throws AclUnusable. */
export async function readAcl(file: string): Promise<AclSource> {
  const shown = showPath(file);
  return checkAcl(await readText(file, shown), shown);
}

/** `shown`: what the places of faults begin with, `etc/acl.conf`. Throws AclUnusable. */
export function checkAcl(text: string, shown: string): AclSource {
  try {
    return { text, rules: parseAcl(text) };
  } catch (error) {
    if (!(error instanceof AclError)) throw error;
    const lines = error.faults.map(({ line, column, text: fault, excerpt }) => {
      const where = `${shown}:${line}:${column}: ${fault}`;
      return excerpt === '' ? where : `${where}: ${excerpt}`;
    });
    const all = lines.length === 1 ? lines : [`${lines.length} problems`, ...lines];
    // Without a cause: it says the same of the first of them.
    throw new AclUnusable(`Cannot use the access rules: ${all.join('\n  ')}`);
  }
}

async function readText(file: string, shown: string): Promise<string> {
  const cannot = (why: string, cause?: unknown): AclUnusable =>
    new AclUnusable(`Cannot read the access rules "${shown}": ${why}`, { cause });
  let handle: FileHandle;
  try {
    // Not blocking: the other end of a pipe may never come.
    handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    throw cannot(whyOf(error), error);
  }
  await using opened = handle;
  const found = await opened.stat();
  if (!found.isFile()) throw cannot('it is not a file');
  if (found.size > aclCharactersMax) {
    throw cannot(`found ${found.size} bytes, want at most ${aclCharactersMax}`);
  }
  let bytes: Buffer;
  try {
    bytes = await opened.readFile();
  } catch (error) {
    throw cannot(whyOf(error), error);
  }
  try {
    // Not as it may be: a topic that is read as another one would be a rule that nobody wrote.
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw cannot('it is not UTF-8', error);
  }
}

function whyOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return 'it does not exist';
  if (code === 'EACCES') return 'permission denied';
  return code ?? message;
}
