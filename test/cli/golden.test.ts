// Every command of the catalogue, run against a real node with real clients, as it is printed: compared
// with test/cli/golden/*.txt. A change that is meant is written there by `--test-update-snapshots`.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import test from 'node:test';
import { paperCatalogue } from '#admin/paper-catalogue';
import { parseCommand } from '#admin/console-parse';
import { startCtlNode, type CtlNode } from './ctl-node.ts';
import { type GoldenGroup, goldenGroups } from './golden-lines.ts';

const commands = paperCatalogue().commands();

/** The words of the command that a line runs; undefined: none. */
function commandOf(line: string): string | undefined {
  const parsed = parseCommand(commands, line.split(' '));
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

async function transcript(node: CtlNode, { lines, hasFigures }: GoldenGroup): Promise<string> {
  let text = '';
  for (const line of lines) {
    const { out, err, exitCode } = await node.ctl(wordsOf(node, line));
    const shown = node.masked(out);
    const figures = hasFigures === true ? shown.replaceAll(/: [\d.]+$/gm, ': <n>') : shown;
    const said = err === '' ? '' : node.masked(err).replaceAll(/^(?=.)/gm, 'stderr: ');
    text += `$ broker_ctl ${line}\n${figures}${said}exit ${exitCode}\n\n`;
  }
  return text;
}

function wordsOf({ node, root }: CtlNode, line: string): string[] {
  return line
    .replaceAll(/<port (\d)>/g, (_, no: string) => String(node.ports[Number(no) - 1]))
    .replaceAll('<dir>', root)
    .split(' ');
}
