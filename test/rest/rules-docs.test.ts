// docs/rules.md does what it says: its statements select what it shows, its commands print what it shows.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { dirname, join } from 'node:path';
import test from 'node:test';
import { promisify } from 'node:util';
import { callNode } from '../../src/cli/ctl-call.ts';
import type { Managed } from '#test/managed';
import { startRuled } from './rules-fixture.ts';

const bash = promisify(execFile);
const docs = readFileSync(new URL('../../docs/rules.md', import.meta.url), 'utf8');

interface Block {
  readonly language: string;
  readonly text: string;
}

const blocks: readonly Block[] = Array.from(
  docs.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm),
  ([, language = '', text = '']) => ({ language, text }),
);

test('every statement of the guide selects what it shows', async () => {
  await using managed = await startRuled();
  let count = 0;
  for (const [i, { language, text: rawsql }] of blocks.entries()) {
    if (language !== 'sql') continue;
    const ctx = JSON.parse(blocks[i + 1]?.text ?? '') as object;
    const shown = blocks[i + 2];
    const { body } = await managed.post('/rules?test', { rawsql, ctx });
    if (shown?.language === 'text') {
      assert.equal(body.message?.slice(0, shown.text.trim().length), shown.text.trim(), rawsql);
    } else {
      assert.equal(body.message, undefined, rawsql);
      assert.deepEqual(body.data, JSON.parse(shown?.text ?? ''), rawsql);
    }
    count++;
  }
  assert.ok(count >= 11, `found ${count} statements`);
});

test('every command of the guide prints what it shows', async () => {
  await using managed = await startRuled();
  const port = await freePort();
  const commands = blocks
    .filter(({ language }) => language === 'sh')
    .flatMap(({ text }) => text.replaceAll('9910', String(port)).split(/^\$ /m).slice(1));
  for (const command of commands) {
    const [line = '', ...output] = command.split('\n');
    const shown = await (line.startsWith('broker_ctl ') ? control : shell)(managed, line);
    assert.equal(shown.trimEnd(), output.join('\n').trimEnd(), line);
  }
  assert.ok(commands.length >= 20, `found ${commands.length} commands`);
});

/** For the web server of the guide. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** `broker_ctl`, with what it prints in a file where the line says so. */
async function control(managed: Managed, line: string): Promise<string> {
  const [command = '', file] = line.split(' > rules.');
  const words = Array.from(command.matchAll(/'([^']*)'|\S+/g), ([word, quoted]) => quoted ?? word);
  const said = { text: '' };
  const say = async (text: string): Promise<void> => void (said.text += text);
  const { dataDir } = managed.parts.settings.node;
  const request = { args: words.slice(1), json: false, cwd: managed.dir };
  await callNode(dataDir, request, { out: say, err: say });
  if (file === undefined) return said.text;
  writeFileSync(join(managed.dir, `rules.${file}`), said.text);
  return '';
}

async function shell(managed: Managed, line: string): Promise<string> {
  const put = line
    .replaceAll('-p 1883', `-p ${managed.mqttPort}`)
    .replaceAll('127.0.0.1:8080', `127.0.0.1:${managed.httpPort}`);
  const path = `${dirname(process.execPath)}:${process.env['PATH']}`;
  const env = { ...process.env, APP: managed.auth, PATH: path };
  const { stdout } = await bash('bash', ['-c', put], { env, timeout: 30_000 });
  return stdout;
}
