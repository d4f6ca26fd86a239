// Reads the file when the plugin starts and whenever it changes, and hands the keys to all workers. Laws: a
// file that cannot be read keeps the plugin from starting, and later on leaves what was read before; what
// a change takes away holds for new handshakes, connections stay.

import { type ControlContext, type ControlPart, describeError, FileWatch } from '#sdk';
import type { PskSettings } from './config.ts';
import { readPskFile } from './psk-file.ts';
import { type PskLines, parsePskLines } from './psk-lines.ts';

/** Nobody mends more of them before looking again. */
const linesToldMax = 20;

const part: ControlPart<PskSettings> = async (context) => {
  const { clock, log, settings, signal } = context;
  let last: Promise<unknown> = Promise.resolve();
  const readAgain = async (): Promise<void> => {
    try {
      if (!signal.aborted) await readAndShare(context);
    } catch (error) {
      log.error('psk.file.kept', { file: settings.path, error: describeError(error) });
    }
  };
  // Before the first reading: what changes in between is seen.
  const watch = new FileWatch(clock, [settings.path], () => {
    last = last.then(readAgain);
  });
  context.defer(() => watch[Symbol.dispose]());
  await readAndShare(context);
};

export default part;

async function readAndShare(context: ControlContext<PskSettings>): Promise<void> {
  const { settings, log } = context;
  const { path: file, delimiter } = settings;
  const { bytes, mode } = await readPskFile(file);
  const lines = parsePskLines(bytes, delimiter);
  const { secrets, skipped } = lines;
  // CVE-2017-9868: whoever may log in to the machine would have the keys of all clients.
  if (secrets.size > 0 && (mode & 0o004) !== 0) {
    const found = (mode & 0o777).toString(8);
    log.warn('psk.file.world_readable', { file, mode: found, wanted: '600' });
  }
  if (skipped.length > 0) {
    context.count('auth.psk_file.skipped_lines', skipped.length);
    log.warn('psk.lines.skipped', { file, count: skipped.length, lines: told(lines) });
  }
  await context.share(secrets);
  log.info('psk.file.read', { file, identities: secrets.size });
}

function told({ skipped }: PskLines): string {
  const first = skipped.slice(0, linesToldMax).map(({ line, why }) => `${line}: ${why}`);
  return first.join('; ');
}
