// All rules and the resources that they need as one document, out and in. Law: secrets go out only where somebody
// asks for them.

import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { ResourceService, RuleService } from '#sdk';
import {
  type AnyOperation,
  type Caller,
  defineOperation,
  OperatingError,
  Type,
} from '#sdk/operations';
import { tag, wrongParams } from './fields.ts';
import { answering } from './rule-refusal.ts';

const documentBytesMax = 64 * 1024 * 1024;

const anyObject = Type.Record(Type.String(), Type.Unknown());
const outcome = Type.Object({
  created: Type.Integer({ description: 'Rules that are new' }),
  replaced: Type.Integer({ description: 'Rules whose id was there' }),
  resources: Type.Object({
    created: Type.Integer({ description: 'Resources that are new' }),
    replaced: Type.Integer({ description: 'Resources whose id was there' }),
  }),
});

type Counts = Awaited<ReturnType<RuleService['import']>>;

interface Outcome extends Counts {
  readonly resources: Counts;
}

export function transferOperations(
  service: RuleService,
  resources: ResourceService,
): AnyOperation[] {
  const take = (document: Plain): Promise<Outcome> =>
    answering(() => taken(service, resources, readable(document)));
  return [exporting(service, resources), importing(take), importingFile(take)];
}

type Take = (document: Plain) => Promise<Outcome>;

async function taken(
  service: RuleService,
  resources: ResourceService,
  document: unknown,
): Promise<Outcome> {
  const given = isPlain(document) ? document['resources'] : undefined;
  const toCome = resources.toCome(given ?? []);
  const { created, replaced } = toCome;
  return { ...(await service.import(document, toCome)), resources: { created, replaced } };
}

function exporting(service: RuleService, resources: ResourceService): AnyOperation {
  return defineOperation({
    name: 'export_rules',
    descr: 'All rules and resources as one document, without what was counted',
    tag,
    http: { method: 'GET', path: '/rules/export' },
    cli: {
      words: 'rules export',
      args: [],
      options: { '--secrets': 'secrets' },
      usage: '[--secrets true]',
      descr: 'Print all rules and resources as a JSON document',
      print: (document: unknown) => JSON.stringify(document, undefined, 2),
    },
    params: Type.Object({
      secrets: Type.Optional(
        Type.Boolean({ description: 'true: with the secrets of resources; ****** otherwise' }),
      ),
    }),
    result: Type.Object({
      version: Type.Integer(),
      resources: Type.Array(anyObject),
      rules: Type.Array(anyObject),
    }),
    example: { data: { version: 1, resources: [], rules: [{ id: 'rule:1a2b3c4d' }] } },
    run: ({ secrets = false }) => documentOf(service.export(), resources.export(secrets)),
  });
}

function importing(take: Take): AnyOperation {
  return defineOperation({
    name: 'import_rules',
    descr: 'Take in a document of rules, all or none; what has the same id is replaced',
    tag,
    http: { method: 'POST', path: '/rules/import', bodyAs: 'document' },
    params: Type.Object({
      document: Type.Record(Type.String(), Type.Unknown(), {
        description: 'What GET /rules/export answers, the envelope or its data',
      }),
    }),
    wrongParams,
    result: outcome,
    example: {
      params: { document: { version: 1, rules: [] } },
      data: { created: 0, replaced: 0, resources: { created: 0, replaced: 0 } },
    },
    run: ({ document }) => take(document),
  });
}

type Plain = Readonly<Record<string, unknown>>;

/** Named as everything else in this interface is. */
function documentOf(
  { version, rules: specs }: ReturnType<RuleService['export']>,
  resources: ReturnType<ResourceService['export']>,
): object {
  const named = specs.map(({ onActionFailed, ...spec }) => ({
    ...spec,
    on_action_failed: onActionFailed,
  }));
  return { version, resources, rules: named };
}

/** With or without the envelope of an answer; what is wrong with it the engine says. */
function readable(given: Plain): unknown {
  const isEnvelope = Object.hasOwn(given, 'data') && !Object.hasOwn(given, 'rules');
  const document = isEnvelope ? given['data'] : given;
  if (!isPlain(document) || !Array.isArray(document['rules'])) return document;
  const specs = document['rules'].map((spec: unknown) => {
    if (!isPlain(spec) || !Object.hasOwn(spec, 'on_action_failed')) return spec;
    const { on_action_failed: onActionFailed, ...others } = spec;
    return { ...others, onActionFailed };
  });
  return { ...document, rules: specs };
}

function isPlain(value: unknown): value is Plain {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function importingFile(take: Take): AnyOperation {
  return defineOperation({
    name: 'rules_import',
    descr: 'Take in the rules of a file, all or none; what has the same id is replaced',
    tag,
    cli: {
      words: 'rules import',
      args: ['file'],
      usage: '<File>',
      descr: 'Take in the rules of a JSON document',
      print: ({ resources, ...rules }: Outcome) => {
        const isAny = resources.created + resources.replaced > 0;
        return `${countsText(rules)}${isAny ? `; resources: ${countsText(resources)}` : ''}`;
      },
      printFailure: ({ message }) => message,
    },
    params: Type.Object({
      file: Type.String({ minLength: 1, description: 'A path on the machine of the node' }),
    }),
    async run({ file }, caller) {
      return take(await readDocument(pathOf(file, caller)));
    },
  });
}

function countsText({ created, replaced }: Counts): string {
  return `${created} created, ${replaced} replaced`;
}

/** The node may have been started elsewhere: a relative path is that of the caller. */
function pathOf(file: string, { directory }: Caller): string {
  if (directory !== undefined) return resolve(directory, file);
  if (file.startsWith('/')) return file;
  throw new OperatingError('invalid', `Cannot read "${file}": expected an absolute path`);
}

async function readDocument(path: string): Promise<Plain> {
  const cannot = (why: string, cause?: unknown): OperatingError =>
    new OperatingError('badRule', `Cannot read the rules "${path}": ${why}`, { cause });
  let text: string;
  try {
    // Not blocking: the other end of a pipe may never come.
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const found = await file.stat();
    if (!found.isFile()) throw cannot('it is not a file');
    if (found.size > documentBytesMax) {
      throw cannot(`found ${found.size} bytes, want at most ${documentBytesMax}`);
    }
    text = await file.readFile('utf8');
  } catch (error) {
    if (error instanceof OperatingError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    throw cannot(code === 'ENOENT' ? 'it does not exist' : (code ?? message), error);
  }
  return parsed(text, cannot);
}

function parsed(text: string, cannot: (why: string, cause?: unknown) => OperatingError): Plain {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw cannot(error instanceof Error ? error.message : 'it is not JSON', error);
  }
  if (isPlain(value)) return value;
  throw cannot('found no object, expected what "rules export" prints');
}
