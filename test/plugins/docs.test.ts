// docs/plugins.md names everything that a plugin can use.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { installRoot } from '#base/install-root';
import { hookNames } from '#hooks/table';
import * as sdk from '../../src/sdk.ts';

const page = readFileSync(join(installRoot, 'docs', 'plugins.md'), 'utf8');

/** The members of an interface, as the source has them. */
function membersOf(file: string, name: string): string[] {
  const source = readFileSync(join(installRoot, 'src', file), 'utf8');
  const body = source.slice(source.indexOf(`export interface ${name}`));
  const own = body.slice(0, body.indexOf('\n}'));
  return [...own.matchAll(/^ {2}(?:readonly )?(\w+)[?(<:]/gm)].map(([, member = '']) => member);
}

function chapter(title: string): string {
  const start = page.indexOf(`\n## ${title}\n`);
  assert.ok(start >= 0, title);
  return page.slice(start, page.indexOf('\n## ', start + 1));
}

test('every hook stands in the table of hooks', () => {
  const missing = hookNames.filter((hook) => !chapter('Hooks').includes(`\`${hook}\``));
  assert.deepEqual(missing, []);
});

test('every member of the contexts stands in the table of its part', () => {
  for (const [file, name, title] of [
    ['plugin/worker-context.ts', 'WorkerContext', 'The worker part'],
    ['host/control-context.ts', 'ControlContext', 'The control part'],
  ] as const) {
    const members = membersOf(file, name);
    assert.ok(members.length > 10, name);
    const named = chapter(title);
    const missing = members.filter((member) => !new RegExp(`[\`]${member}[\`(.]`).test(named));
    assert.deepEqual(missing, [], title);
  }
});

test('every value that the door exports is named', () => {
  const missing = Object.keys(sdk).filter((name) => !new RegExp(`\\b${name}\\b`).test(page));
  assert.deepEqual(missing, []);
});
