// A strict reader of the text format of Prometheus, version 0.0.4, written from its description and not
// from our writer: for tests. It throws at the first line that is not as it should be.

import assert from 'node:assert/strict';

export interface ReadFamily {
  readonly type: string;
  readonly help: string;
  /** Values by their series: `name{label="value"}` as written. */
  readonly series: Map<string, number>;
}

const namePattern = '[a-zA-Z_:][a-zA-Z0-9_:]*';
const labelPattern = '[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\\\\n]|\\\\["\\\\n])*"';
const sampleLine = new RegExp(
  `^(${namePattern})(?:\\{(${labelPattern}(?:,${labelPattern})*)\\})? ([^ ]+)$`,
);
const floatPattern = /^(?:[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?|\+Inf|-Inf|NaN)$/;

export function readPrometheus(text: string): Map<string, ReadFamily> {
  assert.ok(text.endsWith('\n'), 'the last line ends with a line feed');
  const families = new Map<string, ReadFamily>();
  let help: { name: string; text: string } | undefined;
  let current: { name: string; family: ReadFamily } | undefined;
  for (const line of text.slice(0, -1).split('\n')) {
    const comment = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line);
    if (comment?.[1] === 'HELP') {
      assert.ok(!families.has(comment[2] ?? ''), `${line}: the family stands once`);
      help = { name: comment[2] ?? '', text: comment[3] ?? '' };
      assert.match(help.text, /^(?:[^\\]|\\[\\n])+$/, 'HELP escapes backslashes');
    } else if (comment?.[1] === 'TYPE') {
      assert.equal(comment[2], help?.name, 'TYPE follows HELP of the same family');
      assert.match(comment[3] ?? '', /^(counter|gauge|histogram)$/);
      const family = { type: comment[3] ?? '', help: help?.text ?? '', series: new Map() };
      current = { name: comment[2] ?? '', family };
      families.set(current.name, family);
    } else {
      readSample(line, current);
    }
  }
  for (const [name, { series, type }] of families) {
    assert.ok(series.size > 0, `${name} has a sample`);
    assert.equal(name.endsWith('_total'), type === 'counter', `${name}: counters end with _total`);
  }
  return families;
}

function readSample(
  line: string,
  current: { readonly name: string; readonly family: ReadFamily } | undefined,
): void {
  const sample = sampleLine.exec(line);
  assert.ok(sample, `not a sample: ${JSON.stringify(line)}`);
  const [, name = '', labels = '', value = ''] = sample;
  assert.ok(current, `${name} has HELP and TYPE`);
  const suffix = name.slice(current.name.length);
  const allowed = current.family.type === 'histogram' ? /^_(bucket|sum|count)$/ : /^$/;
  assert.ok(name.startsWith(current.name) && allowed.test(suffix), `${name} is of its family`);
  const names = [...labels.matchAll(/(?:^|,)([^=,"]+)=/g)].map((match) => match[1]);
  assert.equal(new Set(names).size, names.length, `${line}: a label stands once`);
  assert.match(value, floatPattern);
  const series = labels === '' ? name : `${name}{${labels}}`;
  assert.ok(!current.family.series.has(series), `${series} stands once`);
  const number = value.endsWith('Inf') ? Number(value.replace('Inf', 'Infinity')) : Number(value);
  current.family.series.set(series, number);
}
