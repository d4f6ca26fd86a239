// docs/api.md, from the catalogue.

import type { TSchema } from 'typebox';
import { type AnswerField, answerFields, answerKind } from './api-docs-answers.ts';
import { type ApiEntry, type ApiGroup, type ApiParam, apiGroups } from './api-docs-entries.ts';
import { failureRows } from './api-docs-failures.ts';
import { apiIntroduction, type RuntimeField } from './api-docs-text.ts';
import { exampleOf } from './api-examples.ts';
import type { AnyOperation } from './operation.ts';
import { wantedText } from './wanted-text.ts';

export function apiDocs(operations: readonly AnyOperation[]): string {
  const groups = apiGroups(operations);
  const contents = groups.map(({ tag }) => `- [${tag}](#${anchor(tag)})`);
  return [
    apiIntroduction(failureRows(), runtimeFields(groups)),
    '## Operations\n',
    `${contents.join('\n')}\n`,
    ...groups.map(groupText),
  ].join('\n');
}

const runtimeNames =
  /^(otp_release|process_used|process_available|reductions|heap_size|mailbox_len|memory_\w+)$/;

/** By name and by what their schemas say of them. */
function runtimeFields(groups: readonly ApiGroup[]): RuntimeField[] {
  const found = new Map<string, { name: string; tags: Set<string>; description: string }>();
  for (const { tag, entries } of groups) {
    const results = entries.flatMap(({ operation }) => operation.result ?? []);
    for (const { name, schema } of results.flatMap((result) => answerFields(result))) {
      if (!runtimeNames.test(name)) continue;
      const description = descriptionOf(schema);
      const key = `${name}\n${description}`;
      const field = found.get(key) ?? { name, tags: new Set<string>(), description };
      found.set(key, field);
      field.tags.add(tag);
    }
  }
  return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function anchor(tag: string): string {
  return tag
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');
}

/** A table of fields that stood in the same group before is named, not repeated. */
function groupText({ tag, entries }: ApiGroup): string {
  const shownIn = new Map<string, string>();
  const texts = entries.map((entry) => entryText(entry, shownIn));
  return [`## ${tag}\n`, ...texts].join('\n');
}

function entryText(entry: ApiEntry, shownIn: Map<string, string>): string {
  const { id, descr, http, path, commands } = entry;
  const notes = [
    ...(http === undefined ? [] : [`\`${http.method} ${path}\``]),
    ...commands.map((command) => `\`${command}\``),
  ];
  const alone = http === undefined ? ', a command alone' : '';
  const port = http?.port === 'dashboard' ? '\nOnly on the port of the dashboard.\n' : '';
  return [
    `### ${id}\n`,
    `${descr}.\n`,
    `${notes.join(' · ')}${alone}\n${port}`,
    ...paramsText(entry),
    ...answerText(entry, shownIn),
    ...exampleText(entry),
  ].join('\n');
}

function paramsText({ params }: ApiEntry): string[] {
  if (params.length === 0) return [];
  const rows = params.map(({ name, in: place, schema, isRequired }: ApiParam) => {
    const must = isRequired ? 'required' : defaultText(schema);
    return row([code(name), place, wantedText(schema), must, descriptionOf(schema)]);
  });
  return [table(['parameter', 'in', 'value', '', 'meaning'], rows)];
}

function defaultText(schema: TSchema): string {
  return 'default' in schema ? `default ${code(JSON.stringify(schema.default))}` : 'optional';
}

function answerText(entry: ApiEntry, shownIn: Map<string, string>): string[] {
  const { id, operation, http } = entry;
  if (http?.produces !== undefined)
    return [`Answer: ${code(http.produces)}, without an envelope.\n`];
  if (operation.result === undefined) return http === undefined ? [] : ['Answer: a code only.\n'];
  const kind = `Answer: ${answerKind(operation.result)}${entry.isPaged ? ', paged' : ''}`;
  const fields = answerFields(operation.result);
  if (fields.length === 0) return [`${kind}.\n`];
  const rows = fields.map(({ name, schema, isRequired }: AnswerField) =>
    row([
      code(name),
      `${wantedText(schema)}${isRequired ? '' : ', optional'}`,
      descriptionOf(schema),
    ]),
  );
  const same = shownIn.get(rows.join());
  if (same !== undefined) return [`${kind} with the fields of [${same}](#${anchor(same)}).\n`];
  shownIn.set(rows.join(), id);
  return [`${kind}.\n`, table(['field', 'value', 'meaning'], rows)];
}

function exampleText(entry: ApiEntry): string[] {
  const call = exampleOf(entry);
  if (call === undefined) return [];
  const kind = entry.http?.produces === undefined ? 'json' : 'text';
  return [`\`\`\`sh\n${call.curl}\n\`\`\`\n`, `\`\`\`${kind}\n${call.answer}\n\`\`\`\n`];
}

function descriptionOf(schema: TSchema): string {
  return 'description' in schema ? String(schema.description) : '';
}

function table(heads: readonly string[], rows: readonly string[]): string {
  return [row(heads), `|${'---|'.repeat(heads.length)}`, ...rows, ''].join('\n');
}

function row(cells: readonly string[]): string {
  return `| ${cells.map(cell).join(' | ')} |`;
}

/** Placeholders such as <name> would be read as HTML outside of code. */
function cell(text: string): string {
  const escaped = text.replaceAll('|', '\\|').replaceAll('\n', ' ');
  if (escaped.includes('`')) return escaped;
  return escaped.replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function code(text: string): string {
  return `\`${text}\``;
}
