// Citations of the standard are checked: a clause named in the source is named by a test, exists,
// and every statement of MQTT 5.0 is either shown by a test or listed with the reason why it cannot.
// Ids are those of MQTT 5.0; "[v3 MQTT-…]" is a statement of 3.1.1, whose numbers differ.

import assert from 'node:assert/strict';
import test from 'node:test';
import { statementIds, testsByStatement } from '../../scripts/conformance-doc.ts';
import { notTestable } from '../conformance/not-testable.ts';
import { assertNone, filesOf, lineAt, readTree, stringsOf, type Tree } from './tree.ts';

const tree = readTree();
const known: ReadonlySet<string> = new Set(statementIds());

test('every clause that the source cites exists and is in the name of a test', () => {
  assertNone(citationViolations(tree));
});

test('every clause in the name of a test exists', () => {
  assertNone(nameViolations(tree));
});

test('every statement of MQTT 5.0 has a test or a reason', () => {
  assertNone(coverageViolations(new Set(testsByStatement().keys()), notTestable));
});

test('the law of citations sees an untested, an unknown and a loose citation', () => {
  const planted = new Map([
    ['src/core/untested.ts', '// [MQTT-3.3.1-5]'],
    ['src/core/unknown.ts', '// [MQTT-9.9.9-9]'],
    ['src/core/loose.ts', '// see MQTT-3.3.1-6, or [MQTT-3.3.1-6, MQTT-3.3.1-6]'],
    ['src/core/untested-v3.ts', '// [v3 MQTT-3.3.1-6]'],
    ['src/core/fine.ts', '// [MQTT-3.3.1-6] and [v3 MQTT-3.1.2-22]'],
    [
      'src/core/a.test.ts',
      "test('[MQTT-3.3.1-6] [v3 MQTT-3.1.2-22] x', () => {}); // [MQTT-3.3.1-5]",
    ],
  ]);
  const found = citationViolations(planted).map((violation) => violation.split(':')[0]);
  assert.deepEqual(
    [...new Set(found)],
    ['src/core/untested.ts', 'src/core/unknown.ts', 'src/core/loose.ts', 'src/core/untested-v3.ts'],
  );
});

test('the law of names sees a clause that does not exist', () => {
  const planted = new Map([['src/core/a.test.ts', "test('[MQTT-9.9.9-9] x', () => {});"]]);
  assert.equal(nameViolations(planted).length, 1);
});

test('the law of coverage sees a gap, a contradiction and a reason for nothing', () => {
  const shown = new Set([...known].filter((id) => id !== 'MQTT-1.5.4-1'));
  assert.equal(coverageViolations(shown, {}).length, 1);
  assert.equal(coverageViolations(shown, { 'MQTT-1.5.4-1': 'binds the client' }).length, 0);
  assert.equal(coverageViolations(known, { 'MQTT-1.5.4-1': 'binds the client' }).length, 1);
  assert.equal(coverageViolations(known, { 'MQTT-9.9.9-9': 'binds the client' }).length, 1);
});

function citationViolations(files: Tree): string[] {
  const tested = new Set(
    testFiles(files).flatMap((path) =>
      stringsOf(files.get(path) ?? '').flatMap(({ value }) =>
        citations(value).map(({ cited }) => cited),
      ),
    ),
  );
  return filesOf(files, ['src', 'plugins'], 'code').flatMap((path) => {
    const text = files.get(path) ?? '';
    return citations(text).flatMap(({ cited, id, index, strict }) => {
      const place = `${path}:${lineAt(text, index)}`;
      if (!strict) return [`${place}: write "[${cited}]", one clause in a pair of brackets`];
      if (!cited.startsWith('v3') && !known.has(id))
        return [`${place}: MQTT 5.0 has no statement ${id}`];
      return tested.has(cited) ? [] : [`${place}: no test has "[${cited}]" in its name; write one`];
    });
  });
}

function nameViolations(files: Tree): string[] {
  return testFiles(files).flatMap((path) =>
    stringsOf(files.get(path) ?? '').flatMap(({ value, line }) =>
      citations(value)
        .filter(({ cited, id }) => !cited.startsWith('v3') && !known.has(id))
        .map(({ id }) => `${path}:${line}: MQTT 5.0 has no statement ${id}`),
    ),
  );
}

function coverageViolations(
  shown: ReadonlySet<string>,
  reasons: Readonly<Record<string, string>>,
): string[] {
  const gaps = [...known]
    .filter((id) => !shown.has(id) && (reasons[id] ?? '') === '')
    .map((id) => `${id}: write a test named "[${id}] …", or its reason in not-testable.ts`);
  const wrong = Object.keys(reasons).flatMap((id) => {
    if (!known.has(id)) return [`not-testable.ts: MQTT 5.0 has no statement ${id}`];
    return shown.has(id) ? [`not-testable.ts: ${id} has a test, so take it out of the table`] : [];
  });
  return [...gaps, ...wrong];
}

/** The tests of these laws plant false citations on purpose. */
function testFiles(files: Tree): string[] {
  return filesOf(files, ['src', 'plugins', 'test'], 'tests').filter(
    (path) => !path.startsWith('test/tidy/'),
  );
}

function citations(text: string): { cited: string; id: string; index: number; strict: boolean }[] {
  return [...text.matchAll(/(\[)?(v3 )?(MQTT-\d+(?:\.\d+)+-\d+)(\])?/g)].map((match) => ({
    cited: `${match[2] ?? ''}${match[3]}`,
    id: match[3] ?? '',
    index: match.index,
    strict: match[1] !== undefined && match[4] !== undefined,
  }));
}
