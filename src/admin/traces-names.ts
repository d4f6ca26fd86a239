// What a trace may be called and what it may follow. Law: a file name is one in the directory of the log,
// and never one that the log itself uses.

import { basename } from 'node:path';
import { randomHex } from '#base/ids';
import type { LogSettings } from '#config/settings';
import { traceNameFault } from '#observe/trace-file';
import { OperatingError } from './failures.ts';

const clientIdCharsMax = 65_535;
const quotedCharsMax = 100;
const wordCharsMax = 40;

/** `log/c1.log` is c1.log where the directory is so called, as the original's commands write it. */
export function traceNameOf(
  file: string,
  { dir, file: logFile, levelFiles }: Pick<LogSettings, 'dir' | 'file' | 'levelFiles'>,
): string {
  const prefix = [`${dir}/`, `${basename(dir)}/`].find((one) => file.startsWith(one)) ?? '';
  const name = file.slice(prefix.length);
  const fault = traceNameFault(name);
  if (fault !== undefined) {
    throw new OperatingError('invalid', `Cannot trace into "${shortened(file)}": ${fault}`);
  }
  const ofLog = [logFile, ...levelFiles.values()];
  if (ofLog.some((own) => name === own || name.startsWith(`${own}.`))) {
    throw new OperatingError('invalid', `Cannot trace into "${name}": it belongs to the log`);
  }
  return name;
}

/** For a trace that was given none. */
export function madeName(by: string, of: string): string {
  const word = of.replaceAll(/[^\w.-]+/g, '_').slice(0, wordCharsMax);
  return `trace_${by}_${word}_${randomHex(4)}.log`;
}

export function clientIdFault(clientId: string): string | undefined {
  if (clientId === '') return 'a client id is wanted';
  const { length } = clientId;
  return length > clientIdCharsMax ? `${length} characters are too many` : undefined;
}

/** For a message that quotes what somebody sent. */
export function shortened(text: string): string {
  return text.length > quotedCharsMax ? `${text.slice(0, quotedCharsMax)}…` : text;
}
