// What management can do, declared once: an operation has a name, words, a schema of its parameters and of
// its result, and a function. Its faces (HTTP route, service index, OpenAPI, CLI command, help,
// documentation) are functions of this declaration. Law: parameters are checked in one place, before
// `run` sees them, whichever face they came through.

import type { Static, TObject, TSchema } from 'typebox';
import type { FailureName, OperatingError } from './failures.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

export interface HttpFace {
  readonly method: Method;
  /** Below `/api/v3`; `:name` is a parameter. Without a trailing slash: both forms are served. */
  readonly path: `/${string}`;
  /** The path stands for itself and not below `/api/v3`, as `/metrics` does; not in the service index. */
  readonly root?: true;
  /** As the original's service index writes it, where that differs. */
  readonly indexPath?: string;
  /** dashboard: only on the dashboard's port. */
  readonly port?: 'any' | 'dashboard';
  /** Nobody has to say who he is. */
  readonly isOpen?: boolean;
  /** The parameter that the whole body is, where it is not an object of parameters. */
  readonly bodyAs?: string;
  /** The answer is this, and not an envelope: `run` answers an AsyncIterable of strings or buffers. */
  readonly produces?: string;
}

export interface CliFace<P, R> {
  /** `clients show`, without the program's name. */
  readonly words: string;
  /**
   * Names of parameters in the order of the arguments; `name?` may be left out; `name...` takes all that
   * are left, as an array.
   */
  readonly args: readonly string[];
  /** The arguments of an older form of the command, told by how many there are. */
  readonly olderArgs?: readonly string[];
  /** Options with a value: `{ '-d': 'description' }`. */
  readonly options?: Readonly<Record<string, string>>;
  /** How the arguments are shown in the help, where it is not `<Name>` for each. */
  readonly usage?: string;
  /** In place of the operation's own words. */
  readonly descr?: string;
  /** Parameters that this command always has. */
  readonly fixed?: Partial<P>;
  /**
   * The lines to print, without a newline at the end; nothing: ''. `--json` prints the result instead. A long
   * answer comes in pieces, of whole lines each. Where the result is a Page, the console asks for one page
   * after another and this prints the rows of each.
   */
  print(result: R, params: P): string | AsyncIterable<string>;
  /**
   * The lines to print when `run` throws an OperatingError; without this its message goes to stderr. The
   * exit code is 1 either way.
   */
  printFailure?(failure: OperatingError, params: P): string;
}

/** Who asks. */
export interface Caller {
  /** The id of the application, the name of the user, or `cli`. */
  readonly name: string;
  readonly address: string;
  /** Where a command was given: what its relative paths are relative to; absent: not known. */
  readonly directory?: string;
  /** Where the request came in; absent: not by HTTP. */
  readonly port?: 'management' | 'dashboard';
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

/** What a schema cannot tell about a call, for the documentation. */
export interface ExampleCall {
  /** Parameters besides those that the schema requires. */
  readonly params?: Readonly<Record<string, unknown>>;
  /** `data` of the answer, or the text of one without an envelope. */
  readonly data?: unknown;
  /** Options of curl besides the usual ones. */
  readonly curl?: string;
  /** What the output goes through: ` | head -n 2`. */
  readonly pipe?: string;
}

export interface Operation<P extends TObject = TObject, R = unknown> {
  /** As in the service index. */
  readonly name: string;
  readonly descr: string;
  /** The group that it stands under in the documentation: `Connections`. */
  readonly tag: string;
  readonly http?: HttpFace;
  /** Several commands may be faces of one operation. */
  readonly cli?: CliFace<Static<P>, R> | readonly CliFace<Static<P>, R>[];
  /** All of them, wherever they stand: path, query, body, arguments. */
  readonly params: P;
  /** What parameters that are missing or wrong are called here, where they have a name of their own. */
  readonly wrongParams?: FailureName;
  /** Of `data`; undefined: the answer is a code only. */
  readonly result?: TSchema;
  /** For operations of plugins; those of the broker have theirs in api-example-calls.ts. */
  readonly example?: ExampleCall;
  readonly run: (params: Static<P>, caller: Caller) => R | Promise<R>;
}

/** An operation whatever its types are. */
export type AnyOperation = Operation<TObject, unknown>;

export function define<P extends TObject, R>(operation: Operation<P, R>): AnyOperation {
  // Its parameters have been checked against `params` when `run` is called.
  return operation as unknown as AnyOperation;
}

/** Part of a list: the answer gets `meta`. */
export class Page<T> {
  readonly rows: readonly T[];
  readonly page: number;
  readonly limit: number;
  /** Of the whole list. */
  readonly count: number;

  constructor(
    rows: readonly T[],
    { page, limit, count }: { page: number; limit: number; count: number },
  ) {
    this.rows = rows;
    this.page = page;
    this.limit = limit;
    this.count = count;
  }
}
