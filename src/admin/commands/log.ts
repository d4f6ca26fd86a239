// How much is logged, changed while the node runs, in all of its threads: the primary level decides which
// lines are made, that of a handler which of them it takes. Nothing of it outlives the process.

import { type TObject, type TOptional, type TString, Type } from 'typebox';
import { type LogHandler, type LogLevelName, logLevels } from '#base/log';
import { OperatingError } from '../failures.ts';
import { type AnyOperation, define } from '../operation.ts';
import { noParams } from '../paging.ts';
import type { AdminParts } from '../parts.ts';

const tag = 'Log';
const text = (value: string): string => value;

/** Handlers that take what there is; the others are files for what is severe enough. */
const plainHandlers = ['default', 'file'] as const;

/** Not a union of levels: an unknown one is answered in the words of its command. */
const level: TString = Type.String({ description: logLevels.join(', ') });

export function logCommands(parts: AdminParts): AnyOperation[] {
  return [settingAll(parts), primary(parts), listing(parts), settingHandler(parts)];
}

type LogParts = Pick<AdminParts, 'log' | 'node'>;

async function setPrimary({ log, node }: LogParts, wanted: LogLevelName): Promise<void> {
  log.setLevel(wanted);
  await node.workers.uphold('setLogLevel', [wanted]);
}

/** On every destination, as the key log.level says. */
export async function setOverallLevel(parts: LogParts, wanted: LogLevelName): Promise<void> {
  for (const id of plainHandlers) parts.log.setHandlerLevel(id, wanted);
  await setPrimary(parts, wanted);
}

function levelOf(word: string): LogLevelName {
  const found = logLevels.find((one) => one === word);
  if (found !== undefined) return found;
  const choice = logLevels.join(', ');
  throw new OperatingError('invalid', `Cannot use level "${word}": expected one of ${choice}`);
}

function settingAll(parts: LogParts): AnyOperation {
  return define({
    name: 'set_log_level',
    descr: 'Set the primary level and that of the console and the log file',
    tag,
    cli: {
      words: 'log set-level',
      args: ['level'],
      print: text,
      printFailure: ({ message }) => `[error] set overall log level failed: ${message}`,
    },
    params: Type.Object({ level }),
    result: level,
    async run(params) {
      const wanted = levelOf(params.level);
      await setOverallLevel(parts, wanted);
      return wanted;
    },
  });
}

const maybeLevel: TObject<{ level: TOptional<TString> }> = Type.Object({
  level: Type.Optional(level),
});

function primary(parts: LogParts): AnyOperation {
  return define({
    name: 'primary_log_level',
    descr: 'Show or set the primary level',
    tag,
    cli: {
      words: 'log primary-level',
      args: ['level?'],
      print: text,
      printFailure: ({ message }) => `[error] ${message}`,
    },
    params: maybeLevel,
    result: level,
    async run(params) {
      if (params.level !== undefined) await setPrimary(parts, levelOf(params.level));
      return parts.log.level;
    },
  });
}

function listing({ log }: LogParts): AnyOperation {
  return define({
    name: 'list_log_handlers',
    descr: 'List where the log goes',
    tag,
    cli: {
      words: 'log handlers list',
      args: [],
      print: (handlers: readonly LogHandler[]) =>
        handlers
          .map(
            (one) => `LogHandler(id=${one.id}, level=${one.level}, destination=${one.destination})`,
          )
          .join('\n'),
    },
    params: noParams,
    result: Type.Array(Type.Object({ id: Type.String(), level, destination: Type.String() })),
    run: () => log.handlers,
  });
}

function settingHandler({ log }: LogParts): AnyOperation {
  return define({
    name: 'set_log_handler_level',
    descr: 'Set the level of a handler',
    tag,
    cli: {
      words: 'log handlers set-level',
      args: ['id', 'level'],
      usage: '<HandlerId> <Level>',
      print: text,
      printFailure: ({ message }) => `[error] ${message}`,
    },
    params: Type.Object({ id: Type.String(), level }),
    result: level,
    run(params) {
      const wanted = levelOf(params.level);
      if (log.setHandlerLevel(params.id, wanted)) return wanted;
      const choice = log.handlers.map(({ id }) => id).join(', ') || 'no handlers at all';
      throw new OperatingError(
        'notFound',
        `Cannot find handler "${params.id}": expected one of ${choice}`,
      );
    },
  });
}
