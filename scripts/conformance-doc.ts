// docs/conformance.md: every normative statement of MQTT 5.0 with the tests that carry its id in
// their names, or the reason why no test of a server can show it. The tests are found by reading
// them, so the page cannot claim one that does not exist.

import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { notTestable } from '../test/conformance/not-testable.ts';
import { type Literal, stringsOf } from '../test/tidy/tree.ts';

/** A test that carries the id of a statement. */
export interface NamedTest {
  readonly file: string;
  /** Without the ids. */
  readonly name: string;
}

const root = dirname(import.meta.dirname);

export function renderConformance(): string {
  const tests = testsByStatement();
  const ids = statementIds();
  const rows = ids.map((id) => `| ${id} | ${evidence(id, tests.get(id) ?? [])} |`);
  const tested = ids.filter((id) => tests.has(id)).length;
  return [
    '# Conformance to MQTT 5.0',
    '',
    `The OASIS standard has ${ids.length} numbered statements (its Appendix B). ${tested} of them are shown by`,
    'tests of this repository, which carry the number in their names: `npm test -- --suite conformance`.',
    'The others bind the client, or cannot be seen from outside; the reason stands beside each.',
    'This page is written by `npm run gen`.',
    '',
    '| Statement | Shown by |',
    '|---|---|',
    ...rows,
    '',
  ].join('\n');
}

export function statementIds(): string[] {
  const file = join(root, 'test', 'conformance', 'statement-ids.txt');
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('MQTT-'));
}

/** MQTT 5.0 ids only; a name may carry several. */
export function testsByStatement(): Map<string, NamedTest[]> {
  const files = globSync(['src/**/{cases,cases-*,*.test}.ts', 'test/**/*.test.ts'], { cwd: root })
    .filter((file) => !file.startsWith(join('test', 'tidy')))
    .sort();
  const found = new Map<string, NamedTest[]>();
  for (const file of files) {
    const literals = stringsOf(readFileSync(join(root, file), 'utf8'));
    for (const [at, { value }] of literals.entries()) {
      for (const [, id = ''] of value.matchAll(/(?<!v3 )(MQTT-\d+(?:\.\d+)+-\d+)/g)) {
        const tests = found.get(id) ?? [];
        const name = nameOf(value, literals.slice(at));
        if (!tests.some((other) => other.file === file && other.name === name))
          tests.push({ file, name });
        found.set(id, tests);
      }
    }
  }
  return found;
}

/** In a table of cases the id stands alone, and the title of the loop below the table is the name. */
function nameOf(value: string, following: readonly Literal[]): string {
  const name = withoutIds(value);
  if (name !== '') return name;
  const title = following.find((literal) => literal.isTitle)?.value ?? '';
  return withoutIds(title.replace(/^(?:\[\$\{\w+\}\]\s+|\$\{ids?\}\s+)+/, ''));
}

function withoutIds(name: string): string {
  return name.replaceAll(/\[?(?:v3 )?MQTT-\d+(?:\.\d+)+-\d+\]?\s*/g, '').trim();
}

function evidence(id: string, tests: readonly NamedTest[]): string {
  if (tests.length === 0) return notTestable[id] ?? '**nothing yet**';
  return tests.map(({ file, name }) => `[${cell(name)}](../${file})`).join('<br>');
}

/** What a template inserts is not known here; a bar or bracket would end the cell or the link. */
function cell(name: string): string {
  return name.replaceAll(/\$\{[^}]*\}/g, '…').replaceAll(/[|[\]]/g, '\\$&');
}
