import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test from 'node:test';
import { whyForeign } from './foreign-keys.ts';
import { showPattern } from './key.ts';
import { ownKeys } from './key-table.ts';
import { confFiles } from './keys.ts';
import { installRoot } from '#base/install-root';
import { loadSettings } from './load.ts';
import { parseConf } from './parse.ts';
import { renderConf } from './render-conf.ts';
import { renderDocs } from './render-docs.ts';

test('every pattern is there once', () => {
  const patterns = ownKeys.all.map(({ pattern }) => pattern);
  assert.equal(new Set(patterns).size, patterns.length);
});

test('every value in the tables is one that its key allows', () => {
  for (const { pattern, type, absent, shipped, sample } of ownKeys.all) {
    const values = [absent, ...Object.values(shipped), sample].filter((v) => v !== undefined);
    for (const value of values) {
      assert.notEqual(type.parse(value), undefined, `${pattern} = ${value}`);
    }
  }
});

test('every line of the tables is found under its own key', () => {
  for (const key of ownKeys.all) {
    for (const written of Object.keys(key.shipped)) {
      assert.equal(ownKeys.find(written)?.key, key, written);
    }
  }
});

test('every key stands in a shipped file, set or as a comment', () => {
  const files = confFiles.map((file) => renderConf(file).replaceAll(/^# /gm, '')).join('\n');
  const found = new Set(parseConf(files).lines.map(({ key }) => ownKeys.find(key)?.key));
  for (const key of ownKeys.all) assert.ok(found.has(key), key.pattern);
});

test('no key of ours is called foreign', () => {
  const concrete = ownKeys.all.map(({ pattern }) =>
    pattern
      .replaceAll('$', 'external')
      .replaceAll(/\((\w+)[^)]*\)/g, '$1')
      .replace('<n>', '1'),
  );
  for (const key of concrete) assert.equal(whyForeign(key), undefined, key);
});

test('a foreign key is recognised at any of its places', () => {
  assert.match(whyForeign('node.async_threads') ?? '', /has no meaning here/);
  assert.match(whyForeign('listener.ssl.external.active_n') ?? '', /broker itself/);
  assert.match(whyForeign('cluster.static.seeds') ?? '', /does not have/);
  assert.equal(whyForeign('cluster'), undefined);
  assert.equal(whyForeign('listener.ssl.active_n'), undefined);
});

test('the shipped files mean the same as the shipped values without a file', () => {
  const root = mkdtempSync(join(tmpdir(), 'broker-conf-'));
  try {
    for (const file of confFiles) {
      const path = join(root, 'etc', file.name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, renderConf(file));
    }
    const shipped = ownKeys.all.flatMap((key) => Object.entries(key.shipped));
    assert.deepEqual(
      loadSettings({ configFile: join(root, 'etc', 'broker.conf') }),
      loadSettings({ sets: shipped.map(([key, value]) => `${key}=${value}`) }),
    );
  } finally {
    rmSync(root, { recursive: true });
  }
});

test('the files in the project are those of the tables', () => {
  const stored = (path: string): string => readFileSync(join(installRoot, path), 'utf8');
  const hint = 'run "npm run gen"';
  for (const file of confFiles) assert.equal(stored(`etc/${file.name}`), renderConf(file), hint);
});

test('the documentation names every key', () => {
  const docs = renderDocs(confFiles);
  for (const { pattern, text } of ownKeys.all) {
    const shown = showPattern(pattern).replaceAll('|', '\\|');
    assert.ok(docs.includes(`| \`${shown}\` | `), pattern);
    assert.ok(text.endsWith('.'), `${pattern}: ${text}`);
  }
});
