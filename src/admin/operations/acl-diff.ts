// What a new file of access rules would change for those who are connected, before it is one. Law: only
// who can open the control socket of the node names a file of its machine; HTTP brings the text.

import { resolve } from 'node:path';
import { Type } from 'typebox';
import type { AclDifference } from '#node/acl-diff';
import type { AclDiffSummary } from '../acl-diff.ts';
import { type AclSource, AclUnusable, checkAcl, readAcl } from '../acl-source.ts';
import { printable } from '../explain-tree.ts';
import { OperatingError } from '../failures.ts';
import { type AnyOperation, type Caller, define } from '../operation.ts';
import type { AdminParts } from '../parts.ts';

const tag = 'Access control';
const rowsMax = 10_000;

interface DiffRow {
  readonly client_id: string;
  readonly action: 'publish' | 'subscribe';
  readonly topic: string;
  readonly before: 'allow' | 'deny';
  readonly after: 'allow' | 'deny';
  readonly rule?: string;
  readonly line?: number;
}

interface SummaryRow {
  /** Of the text. */
  readonly rules: number;
  readonly clients: number;
  readonly clients_changed: number;
  readonly subscriptions: number;
  readonly subscriptions_changed: number;
  readonly publishes: number;
  readonly publishes_changed: number;
  readonly asked_besides: readonly string[];
}

const count = (description: string) => Type.Integer({ description });
const verdict = Type.Union([Type.Literal('allow'), Type.Literal('deny')]);

const difference = Type.Object({
  client_id: Type.String(),
  action: Type.Union([Type.Literal('publish'), Type.Literal('subscribe')]),
  topic: Type.String({ description: 'The topic, or the filter as the client wrote it' }),
  before: verdict,
  after: verdict,
  rule: Type.Optional(Type.String({ description: 'The rule that would decide; absent: none' })),
  line: Type.Optional(Type.Integer({ description: 'Where it stands' })),
});
const summary = {
  rules: count('In the text'),
  clients: count('That are connected, without superusers and zones without access control'),
  clients_changed: count('Of them, those that would be decided about differently'),
  subscriptions: count('Of these clients'),
  subscriptions_changed: count('Of them, those that would be decided differently'),
  publishes: count('Topics that these clients were decided about lately and that are remembered'),
  publishes_changed: count('Of them, those that would be decided differently'),
  asked_besides: Type.Array(Type.String(), {
    description: 'Plugins that are asked besides the rules, and may decide otherwise',
  }),
};

export function aclDiffOperations({ services }: AdminParts): AnyOperation[] {
  const { acl } = services;
  return [
    define({
      name: 'diff_acl',
      descr: 'Who that is connected would be decided about differently by these access rules',
      tag,
      http: { method: 'POST', path: '/acl/diff' },
      params: Type.Object({
        rules: Type.String({ description: 'The text of a file of access rules' }),
        limit: Type.Integer({
          minimum: 1,
          maximum: rowsMax,
          default: 1000,
          description: 'Differences that are listed; all are counted',
        }),
      }),
      result: Type.Object({ ...summary, differences: Type.Array(difference) }),
      async run({ rules: text, limit }, { signal }) {
        const { rules } = await usable(() => checkAcl(text, 'rules'));
        const differences: DiffRow[] = [];
        for await (const row of diffOf(acl.diffs.compare(text, signal), rules.length)) {
          if ('rules' in row) return { ...row, differences };
          if (differences.length < limit) differences.push(row);
        }
        throw new TypeError('a comparison has no end');
      },
    }),
    define({
      name: 'acl_diff',
      descr: 'Who that is connected would be decided about differently by a file of access rules',
      tag,
      cli: {
        words: 'acl diff',
        args: ['file'],
        usage: '<File>',
        descr: 'Show what a new file of rules would change for those who are connected',
        print: (rows: AsyncIterable<DiffRow | SummaryRow>) => linesOf(rows),
      },
      params: Type.Object({
        file: Type.String({ minLength: 1, description: 'A path on the machine of the node' }),
      }),
      async run({ file }, caller) {
        const path = pathOf(file, caller);
        const { text, rules } = await usable(() => readAcl(path));
        return diffOf(acl.diffs.compare(text, caller.signal), rules.length);
      },
    }),
  ];
}

/** The node may have been started elsewhere: a relative path is that of the caller. */
function pathOf(file: string, { directory }: Caller): string {
  if (directory !== undefined) return resolve(directory, file);
  if (file.startsWith('/')) return file;
  throw new OperatingError('invalid', `Cannot read "${file}": expected an absolute path`);
}

async function usable(source: () => AclSource | Promise<AclSource>): Promise<AclSource> {
  try {
    return await source();
  } catch (cause) {
    if (!(cause instanceof AclUnusable)) throw cause;
    throw new OperatingError('invalid', cause.message, { cause });
  }
}

type Comparison = AsyncGenerator<readonly AclDifference[], AclDiffSummary>;

/** The differences one by one, and the summary last. */
async function* diffOf(
  comparison: Comparison,
  rules: number,
): AsyncGenerator<DiffRow | SummaryRow, void> {
  const { looked, changed, others } = yield* rowsIn(comparison);
  yield {
    rules,
    clients: looked.clients,
    clients_changed: changed.clients,
    subscriptions: looked.subscriptions,
    subscriptions_changed: changed.subscriptions,
    publishes: looked.publishes,
    publishes_changed: changed.publishes,
    asked_besides: others,
  };
}

async function* rowsIn(comparison: Comparison): AsyncGenerator<DiffRow, AclDiffSummary> {
  try {
    for (;;) {
      const { done, value } = await comparison.next();
      if (done === true) return value;
      for (const row of value) yield rowOf(row);
    }
  } finally {
    // Whoever stops reading ends it in the workers, too.
    await comparison.return(undefined as never);
  }
}

function rowOf({ clientId, action, topic, isAllowed, rule }: AclDifference): DiffRow {
  return {
    client_id: clientId,
    action,
    topic,
    before: isAllowed ? 'deny' : 'allow',
    after: isAllowed ? 'allow' : 'deny',
    ...(rule === undefined ? {} : { rule: rule.text, line: rule.line }),
  };
}

async function* linesOf(rows: AsyncIterable<DiffRow | SummaryRow>): AsyncGenerator<string> {
  for await (const row of rows) yield 'rules' in row ? summaryText(row) : lineOf(row);
}

/** `sensor-1 subscribe plant/# : allow → deny (line 3: {deny, all}.)` */
function lineOf({
  client_id: clientId,
  action,
  topic,
  before,
  after,
  rule,
  line,
}: DiffRow): string {
  const why = rule === undefined ? 'no rule' : `line ${line}: ${rule}`;
  return printable(`${clientId} ${action} ${topic} : ${before} → ${after} (${why})`);
}

function summaryText(row: SummaryRow): string {
  const { clients, subscriptions, publishes, asked_besides: besides } = row;
  const changed =
    `${row.clients_changed} of ${clients} clients would be decided about differently: ` +
    `${row.subscriptions_changed} of ${subscriptions} subscriptions, ` +
    `${row.publishes_changed} of ${publishes} remembered publishes`;
  if (besides.length === 0) return changed;
  return `${changed}\nasked besides the rules, and not here: ${besides.join(', ')}`;
}
