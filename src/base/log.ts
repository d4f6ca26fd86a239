// The log: an event name plus fields, never a built sentence. Levels are the platform's eight names
// and `trace` below them; the code of the broker uses five of them (error: someone must act, warn:
// someone may, info: life cycle, debug: per client, trace: per packet). No password and no payload
// gets through, whatever a caller hands in.

import { join } from 'node:path';
import { pino } from 'pino';
import { consoleSink } from './log-console.ts';
import { cleanFields } from './log-fields.ts';
import { RotatingFile } from './log-file.ts';

export type LogLevelName = keyof typeof levelValues;

/** Higher is more severe. */
const levelValues = {
  trace: 10,
  debug: 20,
  info: 30,
  notice: 35,
  warning: 40,
  error: 50,
  critical: 60,
  alert: 70,
  emergency: 80,
} as const;

export const logLevels: readonly LogLevelName[] = Object.keys(levelValues) as LogLevelName[];

export interface Logger {
  error(event: string, fields?: object): void;
  warn(event: string, fields?: object): void;
  info(event: string, fields?: object): void;
  debug(event: string, fields?: object): void;
  trace(event: string, fields?: object): void;
  /** A logger that adds these fields to each of its events. It follows the level of the root. */
  child(fields: object): Logger;
  /** Ask before building costly fields. */
  isEnabled(level: LogLevelName): boolean;
}

/** The logger that main owns: its level can change, and it has to be flushed. */
export interface RootLogger extends Logger, AsyncDisposable {
  readonly level: LogLevelName;
  setLevel(level: LogLevelName): void;
  /** Where lines go, in the order of the options. */
  readonly handlers: readonly LogHandler[];
  /** Of one handler. False: there is none with this id. */
  setHandlerLevel(id: string, level: LogLevelName): boolean;
  /** A line that another log has finished, to the sinks of its level; it was let through there. */
  writeLine(levelValue: number, line: string): void;
}

export interface LogHandler {
  /** `default`: the console; `file`: the log file; the name of a level: the file of that level. */
  readonly id: string;
  /** The least severe level that it takes, of what is logged at all. */
  readonly level: LogLevelName;
  /** `console`, or the path of the file. */
  readonly destination: string;
}

export interface LogOptions {
  readonly to: 'off' | 'file' | 'console' | 'both';
  readonly level: LogLevelName;
  readonly dir: string;
  readonly file: string;
  /** -1: no limit. */
  readonly charsLimit: number;
  readonly rotationBytes: number;
  readonly rotationCount: number;
  readonly levelFiles: ReadonlyMap<LogLevelName, string>;
}

/** Opens the destinations that the options name. */
export function openLog(options: LogOptions): RootLogger {
  const toFile = options.to === 'file' || options.to === 'both';
  const toConsole = options.to === 'console' || options.to === 'both';
  const fileRoute = (id: string, from: LogLevelName, name: string): Route => {
    const { rotationBytes, rotationCount } = options;
    const destination = join(options.dir, name);
    return {
      id,
      from,
      destination,
      sink: new RotatingFile(destination, rotationBytes, rotationCount),
    };
  };
  const routes: Route[] = [];
  if (toConsole) {
    const sink = consoleSink(process.stdout);
    routes.push({ id: 'default', from: 'trace', destination: 'console', sink });
  }
  if (toFile) routes.push(fileRoute('file', 'trace', options.file));
  if (options.to !== 'off') {
    for (const [level, name] of options.levelFiles) routes.push(fileRoute(level, level, name));
  }
  return new RootLog(options.level, routes, options.charsLimit);
}

export interface Route {
  /** The least severe level that goes this way, of what is logged at all. */
  readonly from: LogLevelName;
  readonly sink: LeveledSink;
  /** Absent: it is nobody's to see or to change. */
  readonly id?: string | undefined;
  readonly destination?: string | undefined;
}

/** Every LogSink is one that does not ask for the level. */
export interface LeveledSink extends AsyncDisposable {
  write(line: string, levelValue: number): void;
}

/** A log to destinations of one's own. `fields` are in each of its lines. */
export function createLog(
  level: LogLevelName,
  routes: readonly Route[],
  charsLimit: number = -1,
  fields?: object,
): RootLogger {
  return new RootLog(level, routes, charsLimit, fields);
}

type Pino = ReturnType<typeof makePino>;

function makePino(level: LogLevelName, routes: readonly Route[]) {
  const fanOut = {
    // Asks pino to tell the level of each line before it is written.
    [Symbol.for('pino.metadata')]: true,
    lastLevel: 0,
    write(line: string): void {
      writeTo(routes, line, this.lastLevel);
    },
  };
  return pino(
    {
      level,
      customLevels: levelValues,
      useOnlyCustomLevels: true,
      base: null,
      messageKey: 'event',
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    fanOut,
  );
}

function writeTo(routes: readonly Route[], line: string, levelValue: number): void {
  for (const { from, sink } of routes) {
    if (levelValue >= levelValues[from]) sink.write(line, levelValue);
  }
}

interface LogState {
  readonly pino: Pino;
  readonly charsLimit: number;
  /** False: there is no destination, and no line is ever built. */
  readonly isHeard: boolean;
}

class FieldsLog implements Logger {
  protected readonly state: LogState;
  readonly #fields: object | undefined;

  constructor(state: LogState, fields: object | undefined) {
    this.state = state;
    this.#fields = fields;
  }

  error(event: string, fields?: object): void {
    this.#log('error', event, fields);
  }
  warn(event: string, fields?: object): void {
    this.#log('warning', event, fields);
  }
  info(event: string, fields?: object): void {
    this.#log('info', event, fields);
  }
  debug(event: string, fields?: object): void {
    this.#log('debug', event, fields);
  }
  trace(event: string, fields?: object): void {
    this.#log('trace', event, fields);
  }

  child(fields: object): Logger {
    return new FieldsLog(this.state, { ...this.#fields, ...fields });
  }

  isEnabled(level: LogLevelName): boolean {
    return this.state.isHeard && this.state.pino.isLevelEnabled(level);
  }

  #log(level: LogLevelName, event: string, fields: object | undefined): void {
    if (!this.isEnabled(level)) return;
    const { pino, charsLimit } = this.state;
    pino[level](cleanFields({ ...this.#fields, ...fields }, charsLimit), event);
  }
}

class RootLog extends FieldsLog implements RootLogger {
  /** The one array that pino's stream reads too: a route is replaced in it. */
  readonly #routes: Route[];

  constructor(level: LogLevelName, given: readonly Route[], charsLimit: number, fields?: object) {
    const routes = [...given];
    super({ pino: makePino(level, routes), charsLimit, isHeard: routes.length > 0 }, fields);
    this.#routes = routes;
  }

  get level(): LogLevelName {
    return this.state.pino.level as LogLevelName;
  }

  setLevel(level: LogLevelName): void {
    this.state.pino.level = level;
  }

  get handlers(): readonly LogHandler[] {
    return this.#routes.flatMap(({ id, from: level, destination = 'unknown' }) =>
      id === undefined ? [] : [{ id, level, destination }],
    );
  }

  setHandlerLevel(id: string, level: LogLevelName): boolean {
    const place = this.#routes.findIndex((route) => route.id === id);
    const route = this.#routes[place];
    if (route === undefined) return false;
    this.#routes[place] = { ...route, from: level };
    return true;
  }

  writeLine(levelValue: number, line: string): void {
    writeTo(this.#routes, line, levelValue);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#routes.map(({ sink }) => sink[Symbol.asyncDispose]()));
  }
}

/** Tells nobody anything; for tests. */
export const nullLogger: Logger = {
  error: () => {},
  warn: () => {},
  info: () => {},
  debug: () => {},
  trace: () => {},
  child: () => nullLogger,
  isEnabled: () => false,
};
