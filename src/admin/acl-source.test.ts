import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { checkAcl, readAcl } from './acl-source.ts';

function place(t: TestContext): (name: string, content?: string | Buffer) => string {
  const dir = mkdtempSync(join(tmpdir(), 'broker-acl-'));
  t.after(() => rmSync(dir, { recursive: true }));
  return (name, content) => {
    const file = join(dir, name);
    if (content !== undefined) writeFileSync(file, content);
    return file;
  };
}

test('rules are read with what they say, from an empty file none', async (t) => {
  const file = place(t);
  const text = '{allow, all, publish, "täglich"}.\n{deny, all}.\n';
  const { rules, ...source } = await readAcl(file('acl.conf', text));
  assert.deepEqual([source.text, rules.map(({ line }) => line)], [text, [1, 2]]);
  assert.deepEqual(await readAcl(file('empty.conf', '')), { text: '', rules: [] });
});

test('every fault is told with its place; one stands on the line of the message', () => {
  assert.throws(() => checkAcl('{allow, nobody}.', 'etc/acl.conf'), {
    name: 'AclUnusable',
    message:
      'Cannot use the access rules: etc/acl.conf:1:9: found nobody, want all in a rule of two parts: {allow, nobody}.',
  });
  assert.throws(() => checkAcl('{allow, a}.\n{b, all}.', 'rules'), {
    message: [
      'Cannot use the access rules: 2 problems',
      '  rules:1:9: found a, want all in a rule of two parts: {allow, a}.',
      '  rules:2:2: found b, want allow or deny: {b, all}.',
    ].join('\n'),
  });
});

test('what is no file of a bearable size in UTF-8 is refused, and a pipe is not waited for', async (t) => {
  const file = place(t);
  const refused = async (path: string, why: RegExp): Promise<void> =>
    assert.rejects(readAcl(path), (error: Error) => {
      assert.equal(error.name, 'AclUnusable');
      assert.match(error.message, /^Cannot read the access rules ".*": /);
      assert.match(error.message, why);
      return true;
    });
  await refused(file('none.conf'), /: it does not exist$/);
  await refused(file(''), /: it is not a file$/);
  await refused(
    file('latin1.conf', Buffer.from('{deny, all, publish, "\u00e9"}.', 'latin1')),
    /: it is not UTF-8$/,
  );
  const bytes = 16 * 1024 * 1024 + 1;
  await refused(
    file('huge.conf', Buffer.alloc(bytes, '%')),
    /: found 16777217 bytes, want at most 16777216$/,
  );
  const pipe = file('pipe');
  execFileSync('mkfifo', [pipe]);
  await refused(pipe, /: it is not a file$/);
});
