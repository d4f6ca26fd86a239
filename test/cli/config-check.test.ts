// `broker config check`: the files that keys name are read as a start would read them, and everything that
// is wrong with them is told with its place.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { installRoot } from '#base/install-root';
import { runToEnd } from '../interop/outside-program.ts';

interface Checked {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

class Files {
  readonly root = mkdtempSync(join(tmpdir(), 'broker-check-'));

  constructor(t: TestContext) {
    t.after(() => rmSync(this.root, { recursive: true, force: true }));
  }

  write(name: string, text: string): string {
    const file = join(this.root, name);
    mkdirSync(join(file, '..'), { recursive: true });
    writeFileSync(file, text);
    return file;
  }

  async command(words: readonly string[], ...sets: readonly string[]): Promise<Checked> {
    const conf = this.write('broker.conf', '');
    const { code, out, err } = await runToEnd(join(installRoot, 'bin', 'broker'), [
      ...words,
      `--config=${conf}`,
      `--data-dir=${join(this.root, 'data')}`,
      ...sets.map((set) => `--set=${set}`),
    ]);
    return { code, out, err };
  }

  check(...sets: readonly string[]): Promise<Checked> {
    return this.command(['config', 'check'], ...sets);
  }
}

test('config check tells what is wrong with the access rules, with line and column', async (t) => {
  const files = new Files(t);
  const acl = files.write('acl.conf', '{allow, all}.\n{allow, {user "ann"}, publish, ["a"]}.\n');
  const { code, out, err } = await files.check(`acl_file=${acl}`);
  assert.equal(out, '');
  assert.match(err, /^Cannot use files of the configuration: 1 problem\n/);
  assert.match(err, /^ {2}Cannot use the access rules: .*acl\.conf:2:\d+: /m);
  assert.equal(code, 1);
  files.write('acl.conf', '{allow, all}.\n');
  const mended = await files.check(`acl_file=${acl}`);
  assert.deepEqual([mended.code, mended.err], [0, '']);
  assert.match(mended.out, /^Configuration OK: /);
});

test('config check tells of lines of pre-shared keys, of the plugins that are to run', async (t) => {
  const files = new Files(t);
  const psk = files.write('psk.txt', 'a:one\nno key here\n:two\n');
  const path = `psk.file.path=${psk}`;
  assert.equal((await files.check(path)).code, 0, 'it is not to run');
  const { code, err } = await files.check(path, 'plugins.loaded=broker_psk_file');
  assert.match(err, /psk\.txt:2: no delimiter\n.*psk\.txt:3: no identity\n$/);
  assert.doesNotMatch(err, /key here|two/, 'nothing of a key is told');
  assert.equal(code, 1);
  files.write('data/loaded_plugins', '{broker_psk_file, true}.\n');
  assert.equal((await files.check(path)).code, 1, 'the list of the data directory counts');
  files.write('data/loaded_plugins', '{broker_psk_file true}.\n');
  const { err: listed } = await files.check(path);
  assert.match(listed, /Cannot read .*loaded_plugins:1: found "\{broker_psk_file true\}\."/);
});

test('config check tells of keys, certificates and plugins that cannot be read, all at once', async (t) => {
  const files = new Files(t);
  const pem = files.write('key.pem', 'no key');
  const broken = files.write('extensions/broken/plugin.ts', 'export default {');
  const { code, err } = await files.check(
    `auth.jwt.pubkey=${pem}`,
    'listener.ssl.external=8883',
    `listener.ssl.external.keyfile=${pem}`,
    `listener.ssl.external.certfile=${pem}`,
    `plugins.dir=${join(broken, '..', '..')}`,
    'plugins.loaded=broker_auth_jwt,broken',
  );
  assert.match(err, /^Cannot use files of the configuration: 3 problems\n/);
  assert.match(err, /Cannot use TLS files ".*key\.pem"/);
  assert.match(err, /Cannot read auth\.jwt\.pubkey ".*key\.pem"/);
  assert.match(err, /Cannot start broken: /);
  assert.equal(code, 1);
});

test('broker restart leaves what runs when a file of its configuration cannot be used', async (t) => {
  const files = new Files(t);
  const acl = files.write('acl.conf', '{allow, all}.\n');
  const sets = [`acl_file=${acl}`, 'listener.tcp.external=127.0.0.1:0', 'log.to=off'];
  const quiet = ['management.listener.http=127.0.0.1:0', 'plugins.loaded=broker_management'];
  const all = [...sets, ...quiet];
  const started = await files.command(['start'], ...all);
  assert.equal(started.code, 0, started.err);
  // Before its files go.
  await using _broker = {
    [Symbol.asyncDispose]: async () => {
      const stopped = await files.command(['stop'], ...all);
      assert.equal(stopped.code, 0, stopped.err);
    },
  };
  const { out: pid } = await files.command(['pid'], ...all);
  files.write('acl.conf', '{allow, everybody}.\n');
  const { code, err } = await files.command(['restart'], ...all);
  assert.match(err, /Cannot use the access rules: .*acl\.conf:1:/);
  assert.equal(code, 1);
  assert.equal((await files.command(['pid'], ...all)).out, pid);
});
