// A catalogue of small commands, and a screen that remembers, for tests of the console and its socket.

import { Type } from 'typebox';
import { Catalogue } from './catalogue.ts';
import type { Screen } from './console.ts';
import { OperatingError } from './failures.ts';
import { type AnyOperation, type Caller, define, Page } from './operation.ts';
import { noParams, pagingParams, sliceOf } from './paging.ts';

const rowsMax = 10;

interface Answer {
  readonly out: string;
  readonly err: string;
}

export class RecordingScreen implements Screen {
  readonly #pieces: { out: string; err: string } = { out: '', err: '' };

  async out(text: string): Promise<void> {
    this.#pieces.out += text;
  }

  async err(text: string): Promise<void> {
    this.#pieces.err += text;
  }

  get answer(): Answer {
    return { ...this.#pieces };
  }
}

export function quietCaller(signal: AbortSignal = new AbortController().signal): Caller {
  return { name: 'cli', address: 'local', signal };
}

export interface CatalogueListeners {
  /** A page of `things list` is about to be made. */
  readonly onPage?: (page: number) => void;
  /** `stream` has ended. */
  readonly onStreamEnd?: () => void;
}

const nothing = (): void => {};

export function smallCatalogue(
  rows: number,
  { onPage = nothing, onStreamEnd = nothing }: CatalogueListeners = {},
): Catalogue {
  const catalogue = new Catalogue();
  catalogue.add('test', [listing(rows, onPage), ...doing(), ...failing(), streaming(onStreamEnd)]);
  return catalogue;
}

function listing(rows: number, onPage: (page: number) => void): AnyOperation {
  return define({
    name: 'list_things',
    descr: 'List things',
    tag: 'Test',
    cli: {
      words: 'things list',
      args: [],
      print: (page: Page<number>) => page.rows.map((row) => `thing ${row}`).join('\n'),
    },
    params: Type.Object(pagingParams(rowsMax)),
    run(params) {
      const { page, limit, offset } = sliceOf(params, rowsMax);
      onPage(page);
      const length = Math.max(0, Math.min(limit, rows - offset));
      const found = Array.from({ length }, (_, i) => offset + i);
      return new Page(found, { page, limit, count: rows });
    },
  });
}

function doing(): AnyOperation[] {
  const print = (result: object): string => JSON.stringify(result);
  return [
    define({
      name: 'make_thing',
      descr: 'Make a thing',
      tag: 'Test',
      cli: [
        { words: 'things', args: [], fixed: { name: 'none' }, descr: 'Make one', print },
        {
          words: 'things make',
          args: ['name', 'size_bytes?'],
          options: { '-d': 'descr', '--for': 'lasting' },
          print,
        },
        { words: 'things make many', args: ['names...'], fixed: { name: 'all' }, print },
        { words: 'things shape', args: ['name', 'shape'], usage: '<Name> <Json>', print },
      ],
      params: Type.Object({
        name: Type.String(),
        size_bytes: Type.Optional(Type.Integer({ minimum: 1 })),
        descr: Type.Optional(Type.String()),
        lasting: Type.Optional(Type.String()),
        names: Type.Optional(Type.Array(Type.String())),
        shape: Type.Optional(Type.Object({ sides: Type.Integer() })),
      }),
      run: (params) => params,
    }),
    define({
      name: 'nothing',
      descr: 'Do nothing',
      tag: 'Test',
      cli: { words: 'nothing', args: [], print: () => '' },
      params: noParams,
      run: () => undefined,
    }),
  ];
}

function failing(): AnyOperation[] {
  const base = { tag: 'Test', params: noParams, descr: 'Fail' };
  const print = (): string => 'never';
  const refuse = (): never => {
    throw new OperatingError('failed', 'not today');
  };
  return [
    define({ ...base, name: 'a', cli: { words: 'fail plainly', args: [], print }, run: refuse }),
    define({
      ...base,
      name: 'b',
      cli: {
        words: 'fail nicely',
        args: [],
        print,
        printFailure: ({ message }) => `Sorry: ${message}`,
      },
      run: refuse,
    }),
    define({
      ...base,
      name: 'c',
      cli: { words: 'fail badly', args: [], print },
      run: () => {
        throw new TypeError('we did that');
      },
    }),
  ];
}

/** Lines until its caller is gone. */
function streaming(onEnd: () => void): AnyOperation {
  return define({
    name: 'stream',
    descr: 'Print without end',
    tag: 'Test',
    cli: {
      words: 'stream',
      args: [],
      async *print(lines: AsyncIterable<string>) {
        yield* lines;
      },
    },
    params: noParams,
    run: (_, caller) => endless(caller.signal, onEnd),
  });
}

async function* endless(signal: AbortSignal, onEnd: () => void): AsyncGenerator<string> {
  try {
    for (let i = 0; !signal.aborted; i++) {
      await new Promise(setImmediate);
      yield `line ${i} ${'x'.repeat(1000)}`;
    }
  } finally {
    onEnd();
  }
}
