// Runs one command line against the catalogue and prints what comes of it: text as the tool has always
// printed it, or one JSON document. Exit codes: 0 done, or the usage of a known command; 1 it failed, or
// nobody knows the command. Law: only a failure of our own is called one; whatever the world did is said
// in the words of its operation.

import { describeError } from '#base/errors';
import type { Logger } from '#base/log';
import { fullUsage, groupUsage, type UsageGroup } from '#base/usage-text';
import { nearest } from '#config/nearest';
import type { Catalogue } from './catalogue.ts';
import { checkParams } from './check-params.ts';
import { type Parsed, parseCommand } from './console-parse.ts';
import { usageGroups } from './console-usage.ts';
import { OperatingError } from './failures.ts';
import { type Caller, Page } from './operation.ts';

export interface CommandLine {
  readonly args: readonly string[];
  readonly isJson: boolean;
}

/** Where it prints. Each waits until whoever reads has room. */
export interface Screen {
  out(text: string): Promise<void>;
  err(text: string): Promise<void>;
}

export interface ConsoleParts {
  readonly catalogue: Catalogue;
  /** The name of the node. */
  readonly node: string;
  readonly log: Logger;
  /** The plugin that does not run and has commands that begin with this word. */
  readonly ownerOf?: (word: string) => Promise<string | undefined>;
}

type Run = Extract<Parsed, { readonly kind: 'run' }>;

export class Console {
  readonly #parts: ConsoleParts;

  constructor(parts: ConsoleParts) {
    this.#parts = parts;
  }

  /** Answers the exit code. */
  async run(line: CommandLine, caller: Caller, screen: Screen): Promise<number> {
    const commands = this.#parts.catalogue.commands();
    const parsed = parseCommand(commands, line.args);
    const groups = usageGroups(commands);
    if (parsed.kind === 'run') return this.#perform(parsed, groups, line, caller, screen);
    const missing = parsed.kind === 'unknown' ? await this.#missing(line) : undefined;
    if (missing !== undefined) {
      if (line.isJson) return refuse(screen, 404, missing);
      await screen.err(`${missing}\n`);
      return 1;
    }
    const refusal = refusalOf(parsed, groups, line.args);
    if (line.isJson && refusal !== undefined) {
      return refuse(screen, refusal.code, refusal.message);
    }
    const { text, exitCode } = usageFor(parsed, groups);
    await screen.out(
      line.isJson ? `${JSON.stringify({ usage: text.split('\n') })}\n` : `${text}\n`,
    );
    // Behind the usage, which may be longer than a screen.
    if (refusal !== undefined && !refusal.isPlain) await screen.err(`${refusal.message}\n`);
    return exitCode;
  }

  /** What is unknown only because its plugin does not run. */
  async #missing({ args: [word = ''] }: CommandLine): Promise<string | undefined> {
    const owner = await this.#parts.ownerOf?.(word);
    if (owner === undefined) return undefined;
    const remedy = `"broker_ctl plugins load ${owner}" starts it`;
    return `Cannot run "${word}": its plugin ${owner} does not run, ${remedy}`;
  }

  async #perform(
    parsed: Run,
    groups: readonly UsageGroup[],
    line: CommandLine,
    caller: Caller,
    screen: Screen,
  ): Promise<number> {
    const { command, group } = parsed;
    const { operation, face } = command;
    let params: Record<string, unknown> = {};
    try {
      params = checkParams(operation.params, parsed.raw, operation.wrongParams);
    } catch (error) {
      if (!(error instanceof OperatingError)) throw error;
      if (line.isJson) return refuse(screen, error.code, error.message);
      await screen.err(`${error.message}\n`);
      await screen.out(`${usageFor({ kind: 'wrong', group }, groups).text}\n`);
      return 0;
    }
    try {
      const result = await operation.run(params, caller);
      const pages = pagesOf(result, async (page) => {
        if (caller.signal.aborted || '_page' in parsed.raw) return undefined;
        return operation.run({ ...params, _page: page }, caller);
      });
      if (line.isJson) await printJson(result, pages, screen);
      else for await (const page of pages) await printText(face.print(page, params), screen);
      return 0;
    } catch (error) {
      if (!(error instanceof OperatingError)) return this.#fail(line, caller, error, screen);
      if (line.isJson) return refuse(screen, error.code, error.message);
      const text = face.printFailure?.(error, params);
      if (text === undefined) await screen.err(`${error.message}\n`);
      else await printText(text, screen);
      return 1;
    }
  }

  async #fail(
    { args }: CommandLine,
    caller: Caller,
    error: unknown,
    screen: Screen,
  ): Promise<number> {
    // Ended by whoever waited for it.
    if (caller.signal.aborted) throw error;
    const { log, node } = this.#parts;
    const reason = describeError(error);
    // Not its arguments: one of them may be a password.
    log.error('command.failed', { command: args.slice(0, 2).join(' '), error: reason });
    await screen.err(`RPC to ${node} error: ${reason}\n`);
    return 1;
  }
}

async function refuse(screen: Screen, code: number, message: string): Promise<number> {
  await screen.out(`${JSON.stringify({ code, message })}\n`);
  return 1;
}

interface Refusal {
  readonly code: number;
  readonly message: string;
  /** The usage alone says it: somebody asked what a group has. */
  readonly isPlain: boolean;
}

function refusalOf(
  parsed: Exclude<Parsed, Run>,
  groups: readonly UsageGroup[],
  args: readonly string[],
): Refusal | undefined {
  const names = groups.map(({ name }) => name);
  const isHelp = parsed.kind === 'help';
  if (isHelp && (parsed.group === undefined || names.includes(parsed.group))) return undefined;
  const cannot = `Cannot run "${args.join(' ')}"`;
  if (parsed.kind === 'wrong') {
    const isPlain = args.length === 1 || args[1] === 'help';
    return { code: 108, message: `${cannot}: wrong arguments`, isPlain };
  }
  const meant = nearest((isHelp ? parsed.group : args[0]) ?? '', names);
  const hint = meant === undefined ? '' : `, did you mean "${meant}"?`;
  return { code: 404, message: `${cannot}: unknown command${hint}`, isPlain: false };
}

function usageFor(
  parsed: Exclude<Parsed, { readonly kind: 'run' }>,
  groups: readonly UsageGroup[],
): { readonly text: string; readonly exitCode: number } {
  const name = parsed.kind === 'unknown' ? undefined : parsed.group;
  const group = groups.find((one) => one.name === name);
  if (group !== undefined) return { text: groupUsage(group), exitCode: 0 };
  const isFound = parsed.kind === 'help' && name === undefined;
  return { text: fullUsage(groups), exitCode: isFound ? 0 : 1 };
}

/** A result that is a page, and all that follow; any other alone. */
async function* pagesOf(
  result: unknown,
  pageAt: (page: number) => Promise<unknown>,
): AsyncGenerator<unknown> {
  yield result;
  for (let last = result; last instanceof Page; ) {
    if (last.rows.length === 0 || last.page * last.limit >= last.count) return;
    last = await pageAt(last.page + 1);
    if (last instanceof Page) yield last;
  }
}

async function printText(text: string | AsyncIterable<string>, screen: Screen): Promise<void> {
  if (typeof text !== 'string') {
    for await (const piece of text) await printText(piece, screen);
  } else if (text !== '') {
    await screen.out(`${text}\n`);
  }
}

/** Pages and pieces become one array, printed as it comes. */
async function printJson(
  result: unknown,
  pages: AsyncIterable<unknown>,
  screen: Screen,
): Promise<void> {
  const pieces = result instanceof Page ? pages : isStream(result) ? result : undefined;
  if (pieces === undefined) {
    await screen.out(`${JSON.stringify(result ?? null)}\n`);
    return;
  }
  let before = '[';
  for await (const piece of pieces) {
    const rows: readonly unknown[] = piece instanceof Page ? piece.rows : [piece];
    if (rows.length === 0) continue;
    await screen.out(`${before}${rows.map((row) => JSON.stringify(row)).join(',\n')}`);
    before = ',\n';
  }
  await screen.out(before === '[' ? '[]\n' : ']\n');
}

function isStream(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}
