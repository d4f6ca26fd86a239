// Every command of the catalogue, run against a real node with real clients, as it is printed: compared
// with test/cli/golden/*.txt. A change that is meant is written there by `--test-update-snapshots`.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import test from 'node:test';
import { paperCatalogueOfAll } from '#host/paper-plugins';
import { parseCommand } from '#admin/console-parse';
import { startCtlNode, type CtlNode } from './ctl-node.ts';
import { type GoldenGroup, goldenGroups } from './golden-lines.ts';

const commands = (await paperCatalogueOfAll()).commands();

/** The words of the command that a line runs; undefined: none. */
function commandOf(line: string): string | undefined {
  const parsed = parseCommand(commands, splitLine(line));
  return parsed.kind === 'run' ? parsed.command.face.words : undefined;
}

test('every command has a golden line, and every golden group a command', () => {
  const shown = new Set(goldenGroups.flatMap(({ lines }) => lines.map(commandOf)));
  const missing = commands.map(({ face }) => face.words).filter((words) => !shown.has(words));
  assert.deepEqual(missing, [], 'add lines for these to test/cli/golden-lines.ts');
  for (const { name, lines } of goldenGroups) assert.ok(lines.some(commandOf), name);
});

for (const workers of [0, 2]) {
  test(`every command prints what it always has, with ${workers} workers`, async (t) => {
    await using node = await startCtlNode(workers);
    await node.populate();
    for (const group of goldenGroups) {
      await t.test(group.name, async (sub) => {
        const text = await transcript(node, group);
        const file = join(import.meta.dirname, 'golden', `${group.name}.txt`);
        sub.assert.fileSnapshot(text, file, { serializers: [String] });
      });
    }
    await t.test('every line has an answer in JSON', async () => {
      for (const line of goldenGroups.flatMap(({ lines }) => lines)) {
        const { out, err } = await node.ctl(wordsOf(node, line), true);
        assert.doesNotThrow(() => JSON.parse(out), `${line}: ${out}${err}`);
        assert.equal(err, '', line);
      }
    });
  });
}

async function transcript(node: CtlNode, group: GoldenGroup): Promise<string> {
  let text = '';
  for (const line of group.lines) {
    const { out, err, exitCode } = await node.ctl(wordsOf(node, line));
    const shown = node.masked(out);
    const figures = withoutFigures(shown, group);
    const said = err === '' ? '' : node.masked(err).replaceAll(/^(?=.)/gm, 'stderr: ');
    text += `$ broker_ctl ${line}\n${figures}${said}exit ${exitCode}\n\n`;
  }
  return text;
}

function withoutFigures(text: string, { hasFigures, hasThreads }: GoldenGroup): string {
  const left =
    hasThreads === true ? text.replaceAll(/^ {2}(?:control|worker \d+):.*\n/gm, '') : text;
  return hasFigures === true
    ? left.replaceAll(/: [\d.]+$/gm, ': <n>').replaceAll(/=\d+(?=[,)])/g, '=<n>')
    : left;
}

function wordsOf({ node, root }: CtlNode, line: string): string[] {
  const filled = line
    .replaceAll(/<port (\d)>/g, (_, no: string) => String(node.ports[Number(no) - 1]))
    .replaceAll('<dir>', root);
  return splitLine(filled);
}

/** As a shell does: what stands in single quotes is one word. */
function splitLine(line: string): string[] {
  return Array.from(line.matchAll(/'([^']*)'|\S+/g), ([word, quoted]) => quoted ?? word);
}
