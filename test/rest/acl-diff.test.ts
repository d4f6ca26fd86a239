// A new file of access rules compared with the one that holds, before it holds.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import test from 'node:test';
import { promisify } from 'node:util';
import { callNode } from '../../src/cli/ctl-call.ts';
import { publishCode, RuledNode, subscribeCode } from './acl-fixture.ts';

interface Difference {
  readonly client_id: string;
  readonly action: string;
  readonly topic: string;
  readonly before: string;
  readonly after: string;
  readonly line?: number;
}

interface Diff {
  readonly clients: number;
  readonly clients_changed: number;
  readonly subscriptions: number;
  readonly subscriptions_changed: number;
  readonly publishes: number;
  readonly publishes_changed: number;
  readonly differences: readonly Difference[];
}

const proposed = `%% new
{deny, {user, "ben"}, subscribe, ["plant/#"]}.
{allow, all, publish, ["log"]}.
{allow, all, subscribe, ["#"]}.`;

for (const workers of [0, 2]) {
  test(`acl diff lists what would be decided differently, and changes nothing, ${workers} workers`, async () => {
    await using node = await RuledNode.start({ workers, rules: '{allow, all}.' });
    const { managed, file } = node;
    for (let i = 0; i < 6; i++) {
      const client = await node.connect(`c${i}`, { username: i % 2 === 0 ? 'ann' : 'ben' });
      assert.equal(await subscribeCode(client, 'plant/#'), 1);
      assert.equal(await subscribeCode(client, `$share/g/plant/${i}`), 1);
      assert.equal(await subscribeCode(client, 'other'), 1);
      assert.equal(await publishCode(client, 'log'), 0x10);
      if (i === 5) assert.equal(await publishCode(client, 'secret'), 0x10);
    }
    const next = join(dirname(file), 'next.conf');
    writeFileSync(next, proposed);
    const denied = 'allow → deny (line 2: {deny, {user, "ben"}, subscribe, ["plant/#"]}.)';
    const lines = [
      `c1 subscribe plant/# : ${denied}`,
      `c1 subscribe $share/g/plant/1 : ${denied}`,
      `c3 subscribe plant/# : ${denied}`,
      `c3 subscribe $share/g/plant/3 : ${denied}`,
      'c5 publish secret : allow → deny (no rule)',
      `c5 subscribe plant/# : ${denied}`,
      `c5 subscribe $share/g/plant/5 : ${denied}`,
      '3 of 6 clients would be decided about differently: 6 of 18 subscriptions, 1 of 7 remembered publishes',
      '',
    ];
    const said = await managed.ctl('acl', 'diff', next);
    assert.deepEqual([said.stdout.split('\n'), said.stderr, said.code], [lines, '', 0]);
    const { body } = await managed.post('/acl/diff', { rules: proposed, limit: 2 });
    const { differences, ...summary } = body.data as Diff;
    assert.deepEqual(summary, {
      rules: 3,
      clients: 6,
      clients_changed: 3,
      subscriptions: 18,
      subscriptions_changed: 6,
      publishes: 7,
      publishes_changed: 1,
      asked_besides: [],
    });
    assert.deepEqual(differences, [
      {
        client_id: 'c1',
        action: 'subscribe',
        topic: 'plant/#',
        before: 'allow',
        after: 'deny',
        rule: '{deny, {user, "ben"}, subscribe, ["plant/#"]}.',
        line: 2,
      },
      {
        client_id: 'c1',
        action: 'subscribe',
        topic: '$share/g/plant/1',
        before: 'allow',
        after: 'deny',
        rule: '{deny, {user, "ben"}, subscribe, ["plant/#"]}.',
        line: 2,
      },
    ]);
    const same = await managed.post('/acl/diff', { rules: '{allow, all}.' });
    assert.deepEqual((same.body.data as Diff).differences, []);
    const subscriptions = await managed.get('/subscriptions');
    assert.equal((subscriptions.body.data as unknown[]).length, 18, 'nothing has ended');
  });

  test(`acl reload ends what acl diff said would end, ${workers} workers`, async () => {
    await using node = await RuledNode.start({ workers, rules: '{allow, all}.' });
    const { managed } = node;
    for (let i = 0; i < 4; i++) {
      const client = await node.connect(`c${i}`, {
        username: i % 2 === 0 ? 'ann' : 'ben',
        protocolVersion: 4,
      });
      await client.subscribeAsync(['plant/#', 'other']);
    }
    const { body } = await managed.post('/acl/diff', { rules: proposed });
    const { subscriptions_changed: count, clients_changed: clients } = body.data as Diff;
    assert.deepEqual([count, clients], [2, 2]);
    node.write(proposed);
    const said = await managed.ctl('acl', 'reload');
    assert.equal(said.stdout, 'Reloaded 3 rules; 2 subscriptions of 2 clients ended\n');
    const left = (await managed.get('/subscriptions')).body.data as {
      readonly client_id: string;
      readonly topic: string;
    }[];
    assert.deepEqual(
      left.map((row) => `${row.client_id} ${row.topic}`),
      ['c0 other', 'c0 plant/#', 'c1 other', 'c2 other', 'c2 plant/#', 'c3 other'],
    );
    const again = await managed.ctl('acl', 'reload');
    assert.equal(again.stdout, 'Reloaded 3 rules; 0 subscriptions of 0 clients ended\n');
  });

  test(`with acl.recheck off a reload ends nothing, ${workers} workers`, async () => {
    await using node = await RuledNode.start({
      workers,
      rules: '{allow, all}.',
      settings: { 'acl.recheck': 'off' },
    });
    const client = await node.connect('c', { username: 'ben', protocolVersion: 4 });
    await client.subscribeAsync('plant/#');
    node.write(proposed);
    const said = await node.managed.ctl('acl', 'reload');
    assert.equal(said.stdout, 'Reloaded 3 rules; 0 subscriptions of 0 clients ended\n');
    const { body } = await node.managed.get('/subscriptions/c');
    assert.equal((body.data as unknown[]).length, 1);
  });

  test(`acl diff of many clients comes in order and in slices, ${workers} workers`, async () => {
    await using node = await RuledNode.start({ workers, rules: '{allow, all}.' });
    const { managed } = node;
    const count = 40;
    const each = 60;
    await Promise.all(
      Array.from({ length: count }, async (_, i) => {
        const client = await node.connect(`c-${String(i).padStart(3, '0')}`);
        await client.subscribeAsync(Array.from({ length: each }, (_unused, j) => `t/${j}`));
      }),
    );
    const { body } = await managed.post('/acl/diff', { rules: '{deny, all}.', limit: 10_000 });
    const { differences, ...summary } = body.data as Diff;
    assert.deepEqual(
      [summary.clients_changed, summary.subscriptions_changed, differences.length],
      [count, count * each, count * each],
    );
    const ids = differences.map((row) => row.client_id);
    assert.deepEqual(ids, ids.toSorted());
  });
}

test('acl diff refuses what is no rules, and reads a path from where it is called', async () => {
  await using node = await RuledNode.start({ rules: '{allow, all}.' });
  const { managed, file } = node;
  const { body } = await managed.post('/acl/diff', { rules: '{allow}.' });
  assert.equal(body.code, 108);
  assert.match(body.message ?? '', /^Cannot use the access rules: rules:1:1: found a tuple of 1/);
  const relative = await managed.ctl('acl', 'diff', 'acl.conf');
  assert.deepEqual(
    [relative.code, relative.stderr],
    [1, 'Cannot read "acl.conf": expected an absolute path\n'],
  );
  const said = { stdout: '', stderr: '' };
  const outcome = await callNode(
    managed.parts.settings.node.dataDir,
    { args: ['acl', 'diff', 'acl.conf'], json: true, cwd: dirname(file) },
    {
      out: async (text) => void (said.stdout += text),
      err: async (text) => void (said.stderr += text),
    },
  );
  assert.deepEqual([outcome, said.stderr], [{ exitCode: 0 }, '']);
  assert.equal((JSON.parse(said.stdout) as Diff[]).length, 1, 'the summary alone');
  const program = new URL('../../bin/broker_ctl', import.meta.url).pathname;
  const { dataDir } = managed.parts.settings.node;
  const told = await promisify(execFile)(
    program,
    ['--data-dir', dataDir, 'acl', 'diff', 'acl.conf'],
    {
      cwd: dirname(file),
      timeout: 60_000,
    },
  );
  assert.match(told.stdout, /^0 of 0 clients would be decided about differently: /);
  rmSync(file);
  const gone = await managed.ctl('acl', 'diff', file);
  assert.equal(gone.stderr, `Cannot read the access rules "${file}": it does not exist\n`);
  // HTTP cannot have the node read a file.
  const path = await managed.post('/acl/diff', { file });
  assert.equal(path.body.code, 107);
});
