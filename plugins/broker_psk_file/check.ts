// For `broker config check`: the lines of the file that could not be used, each with its place.

import type { CheckPart } from '#sdk';
import type { PskSettings } from './config.ts';
import { readPskFile } from './psk-file.ts';
import { parsePskLines } from './psk-lines.ts';

/** Nobody mends more of them before looking again. */
const linesToldMax = 20;

const check: CheckPart<PskSettings> = async ({ path, delimiter }) => {
  const { bytes } = await readPskFile(path);
  const { skipped } = parsePskLines(bytes, delimiter);
  const told = skipped.slice(0, linesToldMax).map(({ line, why }) => `${path}:${line}: ${why}`);
  const more = skipped.length - told.length;
  return more > 0 ? [...told, `${path}: ${more} more`] : told;
};

export default check;
