import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { feelPulse, showPulse } from './pulse.ts';

const pulse = { pid: 1, node: 'n@h', version: '0', startedAtMs: 0, listeners: ['mqtt:tcp'] };
const deadlineMs = 5000;

function directory(t: TestContext, ...below: string[]): string {
  const root = mkdtempSync(join(tmpdir(), 'broker-pulse-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const path = join(root, ...below);
  mkdirSync(path, { recursive: true });
  return path;
}

for (const [length, below] of [
  ['short', []],
  ['long', ['long-'.repeat(30)]],
] as const) {
  test(`a broker answers in a data directory with a ${length} path, until it ends`, async (t) => {
    const dir = directory(t, ...below);
    assert.equal(await feelPulse(dir, deadlineMs), undefined);
    {
      await using _shown = showPulse(dir, pulse);
      assert.deepEqual(await feelPulse(dir, deadlineMs), pulse);
      assert.equal(statSync(join(dir, 'broker.sock')).mode & 0o777, 0o600);
    }
    assert.equal(existsSync(join(dir, 'broker.sock')), false);
    assert.equal(await feelPulse(dir, deadlineMs), undefined);
  });
}

test('nobody answers for a data directory that is not there', async (t) => {
  const dir = directory(t);
  assert.equal(await feelPulse(join(dir, 'none'), deadlineMs), undefined);
  assert.equal(await feelPulse(join(dir, 'long-'.repeat(30)), deadlineMs), undefined);
});

test('a broker that cannot open its socket says so and serves', async (t) => {
  const said = t.mock.method(console, 'error', () => undefined);
  const dir = directory(t);
  // A directory in its place can neither be removed as a file nor listened on.
  mkdirSync(join(dir, 'broker.sock'));
  await using _shown = showPulse(dir, pulse);
  assert.match(
    String(said.mock.calls[0]?.arguments[0]),
    /^Cannot open ".*broker\.sock": .*; ping and status will not answer$/,
  );
  assert.equal(await feelPulse(dir, deadlineMs), undefined);
});
