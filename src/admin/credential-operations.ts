// The operations on a table of names and passwords (#access/credential-table), for the plugins that have
// one. Law: a password goes in and never comes out, not as a hash either.

import { type TObject, type TString, Type } from 'typebox';
import { credentialNameMax, credentialPasswordMax } from '#access/credential-entry';
import { CredentialRefused, type CredentialTable } from '#access/credential-table';
import { HashesBusy } from '#access/hash-queue';
import { OperatingError } from './failures.ts';
import { type AnyOperation, define, Page } from './operation.ts';
import { noParams, pagingParams, sliceOf } from './paging.ts';

export interface CredentialWords {
  /** Of names of operations, of the path, and of the name in an entry. */
  readonly field: 'clientid' | 'username';
  /** As help writes it: `ClientId`, and in words: `client id`. */
  readonly argument: string;
  readonly words: string;
  /** The first word of the commands. */
  readonly command: string;
  readonly tag: string;
  /** What examples have. */
  readonly sample: string;
}

/** The limit of pages that holds without a word in the configuration. */
const rowsMax = 10_000;
const linesAtOnce = 1000;

type Table = Pick<
  CredentialTable,
  'add' | 'count' | 'has' | 'names' | 'page' | 'remove' | 'update'
>;
type Entry = Readonly<Record<string, string>>;

export function credentialOperations(table: Table, words: CredentialWords): AnyOperation[] {
  return [
    list(table, words),
    listAll(table, words),
    lookup(table, words),
    add(table, words),
    update(table, words),
    remove(table, words),
  ];
}

function list(table: Table, { field, tag, sample }: CredentialWords): AnyOperation {
  return define({
    name: `list_${field}`,
    descr: `List available ${field} in the cluster`,
    tag,
    http: { method: 'GET', path: `/auth_${field}` },
    params: Type.Object(pagingParams(rowsMax)),
    result: Type.Array(Type.String()),
    example: { data: [sample] },
    async run(params) {
      const { offset, ...slice } = sliceOf(params, rowsMax);
      const rows = await table.page(offset, slice.limit);
      return new Page(rows, { ...slice, count: table.count });
    },
  });
}

/** All of them in one go: pages begin to count at the first entry each time. */
function listAll(table: Table, { field, command, words, tag }: CredentialWords): AnyOperation {
  return define({
    name: `list_all_${field}`,
    descr: `List all ${words}s`,
    tag,
    cli: { words: `${command} list`, args: [], print: printNames },
    params: noParams,
    run: () => table.names(),
  });
}

async function* printNames(names: AsyncIterable<string>): AsyncGenerator<string> {
  let lines: string[] = [];
  for await (const name of names) {
    lines.push(name);
    if (lines.length < linesAtOnce) continue;
    yield lines.join('\n');
    lines = [];
  }
  yield lines.join('\n');
}

function lookup(table: Table, { field, tag, sample }: CredentialWords): AnyOperation {
  return define({
    name: `lookup_${field}`,
    descr: `Lookup ${field} in the cluster`,
    tag,
    http: { method: 'GET', path: `/auth_${field}/:${field}` },
    params: named(field),
    result: Type.Object({ [field]: Type.String() }),
    example: { params: { [field]: sample }, data: { [field]: sample } },
    run(given) {
      const name = nameIn(given, field);
      if (table.has(name)) return { [field]: name };
      throw new OperatingError('notFound', `Cannot find ${field} "${name}": it is not there`);
    },
  });
}

function add(table: Table, words: CredentialWords): AnyOperation {
  const { field, argument, tag, sample } = words;
  return define({
    name: `add_${field}`,
    descr: `Add ${field} in the cluster`,
    tag,
    http: { method: 'POST', path: `/auth_${field}` },
    cli: {
      ...command(words, 'add', ['password'], `<${argument}> <Password>`),
      descr: `Add a ${words.words} with its password`,
    },
    params: withPassword(field),
    example: { params: { [field]: sample, password: 'a-long-password' } },
    run: (given) => done(table.add(nameIn(given, field), given.password)),
  });
}

function update(table: Table, words: CredentialWords): AnyOperation {
  const { field, argument, tag, sample } = words;
  return define({
    name: `update_${field}`,
    descr: `Update ${field} in the cluster`,
    tag,
    http: { method: 'PUT', path: `/auth_${field}/:${field}` },
    cli: {
      ...command(words, 'update', ['password'], `<${argument}> <NewPassword>`),
      descr: `Give a ${words.words} a new password`,
    },
    params: withPassword(field),
    example: { params: { [field]: sample, password: 'a-longer-password' } },
    run: (given) => done(table.update(nameIn(given, field), given.password)),
  });
}

function remove(table: Table, words: CredentialWords): AnyOperation {
  const { field, argument, tag, sample } = words;
  return define({
    name: `delete_${field}`,
    descr: `Delete ${field} in the cluster`,
    tag,
    http: { method: 'DELETE', path: `/auth_${field}/:${field}` },
    cli: {
      ...command(words, 'del', [], `<${argument}>`),
      descr: `Delete a ${words.words} and its password`,
    },
    params: named(field),
    example: { params: { [field]: sample } },
    run: (given) => table.remove(nameIn(given, field)),
  });
}

function command(
  { field, command: group }: CredentialWords,
  verb: string,
  more: readonly string[],
  usage: string,
) {
  return {
    words: `${group} ${verb}`,
    args: [field, ...more],
    usage,
    print: () => 'ok',
    printFailure: ({ message }: OperatingError) => `Error: ${message}`,
  };
}

const nameSchema = (field: string): TString =>
  Type.String({ minLength: 1, maxLength: credentialNameMax, description: `The ${field}` });

const named = (field: string): TObject => Type.Object({ [field]: nameSchema(field) });

function withPassword(field: string): TObject<{ password: TString }> {
  const password = Type.String({
    minLength: 1,
    maxLength: credentialPasswordMax,
    description: 'The password from now on',
  });
  return Type.Object({ [field]: nameSchema(field), password }) as TObject<{ password: TString }>;
}

/** The schema has made sure of it. */
function nameIn(given: unknown, field: string): string {
  return (given as Entry)[field] as string;
}

async function done(asked: Promise<void>): Promise<void> {
  try {
    await asked;
  } catch (error) {
    const isOfWorld = error instanceof CredentialRefused || error instanceof HashesBusy;
    throw isOfWorld ? new OperatingError('failed', error.message, { cause: error }) : error;
  }
}
