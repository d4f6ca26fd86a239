// log.*: how much is told, and where to.

import { type Key, type KeysOf, key, optionalKey } from './key.ts';
import type { LogSettings } from './settings.ts';
import { byteSize, int, matching, oneOf, text } from './value-type.ts';

const levels = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
] as const;
const fileName = matching(/^[^/\\]+$/, 'the name of a file, without a directory');

export const logKeys: KeysOf<Omit<LogSettings, 'levelFiles'>> = {
  to: key('log.to', oneOf('off', 'file', 'console', 'both'), 'console', {
    shipped: 'both',
    text:
      'Where the log goes. On a terminal the console gets one readable line per event, elsewhere ' +
      'JSON lines, as the file does. A broker that was started detached has no console: the ' +
      'console part then goes to the file.',
  }),
  level: key('log.level', oneOf(...levels), 'warning', {
    shipped: 'warning',
    text: 'The least severe level that is logged, on every destination.',
  }),
  dir: key('log.dir', text('the path of a directory'), 'log', {
    shipped: 'log',
    text: 'Directory of the log files; made when missing. A relative path starts at the directory of the installation.',
  }),
  file: key('log.file', fileName, 'broker.log', {
    shipped: 'broker.log',
    text: 'Name of the log file in log.dir.',
  }),
  charsLimit: key('log.chars_limit', int(-1, 1_048_576), '-1', {
    sample: '1024',
    text: 'Longest text in one field of a line, in characters; the rest is cut. -1: no limit.',
  }),
  rotationBytes: key('log.rotation.size', byteSize(1024, 2 ** 40), '10MB', {
    shipped: '10MB',
    text: 'A log file that would grow over this size is renamed to <file>.1 and a new one begins.',
  }),
  rotationCount: key('log.rotation.count', int(1, 1000), '5', {
    shipped: '5',
    text: 'How many renamed files are kept: <file>.1 is the newest.',
  }),
};

export const levelFileKey: Key<string | undefined> = optionalKey(
  `log.(${levels.join('|')}).file`,
  fileName,
  {
    sample: 'error.log',
    sampleNames: 'error',
    text:
      'A further file in log.dir for this level and the more severe ones. Events below log.level ' +
      'do not get there either.',
  },
);
