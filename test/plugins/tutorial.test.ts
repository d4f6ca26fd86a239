// The first plugin of docs/plugins.md, followed to the letter: its files are written, its lines are typed into
// a shell beside a real broker, and what they print is compared with what the page says. The folder that
// results is the shipped template.

import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import test from 'node:test';
import { installRoot } from '#base/install-root';
import { BrokerProcess, onlyListeners, Place } from '../interop/broker-process.ts';
import { runToEnd } from '../interop/outside-program.ts';

interface Block {
  /** `ts extensions/visitors/plugin.ts`, `console`, `conf`. */
  readonly kind: string;
  readonly text: string;
}

function blocksOf(page: string): Block[] {
  const start = page.indexOf('\n## A first plugin\n');
  const chapter = page.slice(start, page.indexOf('\n## ', start + 1));
  return [...chapter.matchAll(/^```(\S.*)\n([\s\S]*?)^```$/gm)].map(([, kind = '', text = '']) => {
    return { kind, text };
  });
}

/** What is typed behind each `$`, with what is printed. */
function linesOf(text: string): { readonly typed: string; readonly printed: string }[] {
  return text
    .split(/^\$ /m)
    .slice(1)
    .map((piece) => {
      const end = piece.indexOf('\n');
      return { typed: piece.slice(0, end), printed: piece.slice(end + 1) };
    });
}

for (const workers of [0, 2]) {
  test(`the first plugin of the documentation does what the page says, with ${workers} workers`, async () => {
    const blocks = blocksOf(readFileSync(join(installRoot, 'docs', 'plugins.md'), 'utf8'));
    using place = new Place();
    const confs = blocks.filter(({ kind }) => kind === 'conf');
    const sets = confs
      .flatMap(({ text }) => text.trim().split('\n'))
      .map((line) => {
        const [key, value = ''] = line.split(' = ');
        return `${key}=${value === 'extensions' ? join(place.root, value) : value}`;
      });
    assert.deepEqual(sets, [`plugins.dir=${join(place.root, 'extensions')}`]);
    await using broker = await BrokerProcess.start(
      [
        ...onlyListeners('tcp').filter((set) => !set.startsWith('management.')),
        'management.listener.http=127.0.0.1:0',
        `node.workers=${workers}`,
        ...sets,
      ],
      { place },
    );
    const port = /^ {2}http:management 127\.0\.0\.1:(\d+) /m.exec(broker.program.out)?.[1];
    assert.ok(port, broker.program.out);
    const env = { BROKER_NODE__DATA_DIR: place.dataDir };
    let typed = 0;
    for (const { kind, text } of blocks) {
      if (kind.startsWith('ts ')) write(join(place.root, kind.slice(3)), text);
      for (const line of kind === 'console' ? linesOf(text) : []) {
        const command = line.typed
          .replaceAll('data/api-secret', join(place.dataDir, 'api-secret'))
          .replaceAll('-p 1883', `-p ${broker.port('tcp')}`)
          .replaceAll('127.0.0.1:8080', `127.0.0.1:${port}`)
          .replaceAll('answer.txt', join(place.root, 'answer.txt'));
        const { out, err } = await runToEnd('bash', ['-c', `cd ${installRoot} && ${command}`], {
          env,
        });
        // A JSON answer has no newline at its end; a shell shows its prompt on the next line all the same.
        assert.equal(`${out}${err}`.trimEnd(), line.printed.trimEnd(), line.typed);
        typed++;
      }
    }
    assert.ok(typed > 10, `${typed}`);
    assert.deepEqual(
      codeOf(join(place.root, 'extensions', 'visitors')),
      codeOf(join(installRoot, 'plugins', 'broker_plugin_template'), renamed),
    );
  });
}

/** The files that run, by name. */
function codeOf(dir: string, told: (text: string) => string = (text) => text): object {
  const names = readdirSync(dir).filter((name) => /(?<!\.test)\.ts$/.test(name));
  return Object.fromEntries(
    names.toSorted().map((name) => [name, told(readFileSync(join(dir, name), 'utf8'))]),
  );
}

/** Names of keys, metrics, paths and commands belong to one plugin: the page has words of its own for them. */
function renamed(text: string): string {
  return text
    .replaceAll(/(?:broker_)?(?:plugin_)?template/g, 'visitors')
    .replaceAll('Template', 'Visitors');
}

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
