// Access rules at the start of a node and of its workers: they are there before anybody is let in.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { promisify } from 'node:util';
import type { Worker } from 'node:worker_threads';
import { startManaged } from '#test/managed';
import { publishCode, RuledNode, until } from './acl-fixture.ts';

const run = promisify(execFile);

for (const workers of [0, 2]) {
  test(`rules that are broken refuse the start, ${workers} workers`, async () => {
    const rules = '{allow, all}.\n{deny, all, publish, "x" }';
    await assert.rejects(RuledNode.start({ workers, rules }), {
      name: 'AclUnusable',
      message:
        /^Cannot use the access rules: .*acl\.conf:2:27: found the end of the text, want a full stop/,
    });
  });
}

test('the program that starts a broker prints what is wrong with the rules, and no stack', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'broker-acl-'));
  try {
    const file = join(dir, 'acl.conf');
    writeFileSync(file, '%% mine\n{allow, all, publish, ["a"]\n');
    const broker = new URL('../../bin/broker', import.meta.url).pathname;
    const sets = ['listener.tcp.external=127.0.0.1:0', `acl_file=${file}`, 'node.workers=0'];
    const args = ['foreground', `--data-dir=${dir}/data`, ...sets.map((set) => `--set=${set}`)];
    const error = await run(
      broker,
      [...args, '--set=log.to=off', '--set=management.listener.http=off'],
      {
        timeout: 60_000,
      },
    ).then(
      () => assert.fail('it has started'),
      (failure: { readonly code: number; readonly stderr: string }) => failure,
    );
    assert.equal(error.code, 1);
    assert.equal(
      error.stderr,
      `Cannot use the access rules: ${file}:3:1: found the end of the text, want "," or "}"\n`,
    );
  } finally {
    rmSync(dir, { recursive: true });
  }
});

test('a worker that takes the place of one that died has the rules before it lets anybody in', async (t) => {
  const threads: Worker[] = [];
  const onWorker = (worker: Worker): void => void threads.push(worker);
  process.on('worker', onWorker);
  t.after(() => process.off('worker', onWorker));
  await using node = await RuledNode.start({
    workers: 2,
    rules: '{allow, all}.',
    expectedErrors: ['worker.died'],
  });
  const { managed } = node;
  node.write('{allow, all, publish, "t"}.');
  assert.equal((await managed.put('/acl/reload')).body.code, 0);
  const victim = threads.find(({ threadName }) => threadName?.includes('0'));
  await (victim ?? assert.fail('there is no worker 0')).terminate();
  await until(() => managed.logged.some((line) => line.includes('"worker.restarted"')));
  for (let i = 0; i < 8; i++) {
    const client = await node.connect(`c${i}`);
    assert.deepEqual(
      [await publishCode(client, 't'), await publishCode(client, 'u')],
      [0x10, 0x87],
    );
  }
});

test('without a file there is no hook and nothing to reload', async () => {
  await using managed = await startManaged({ settings: { allow_anonymous: 'true' } });
  const { body } = await managed.put('/acl/reload');
  assert.deepEqual(body, {
    code: 102,
    message: 'Cannot reload access rules: acl_file is not set',
  });
  const { stdout } = await managed.ctl('acl', 'check', 'user=ann', 'publish', 't');
  assert.equal(stdout, 'deny by nomatch\n');
  const { answers } = await managed.node.workers.everywhere('proposeAcl', [1, '']);
  assert.deepEqual(answers, [['worker 0', []]]);
});
