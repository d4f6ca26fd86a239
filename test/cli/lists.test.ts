// clients, sessions, subscriptions and routes on the console: the lines that scripts know, from all workers.

import assert from 'node:assert/strict';
import test from 'node:test';
import { type CtlNode, startCtlNode } from './ctl-node.ts';

/** What it prints, times masked, and its exit code. */
async function said(node: CtlNode, ...words: string[]): Promise<[string[], number]> {
  const { out, err, exitCode } = await node.ctl(words);
  assert.equal(err, '', words.join(' '));
  const masked = out
    .replaceAll(/_at=\d{10}\b/g, '_at=<s>')
    .replaceAll(/(:)\d+(?=, conn)/g, '$1<p>');
  return [masked.split('\n').filter((line) => line !== ''), exitCode];
}

const session = (id: string, subscriptions: number): string =>
  `Session(${id}, clean_start=false, expiry_interval=7200, subscriptions_count=${subscriptions}, ` +
  'max_inflight=65535, inflight=0, mqueue_len=0, mqueue_dropped=0, awaiting_rel=0, ' +
  'deliver_msg=0, enqueue_msg=0, created_at=<s>)';

const connection = (id: string, username: string): string =>
  `Connection(${id}, clean_start=false, username=${username}, ` +
  'peername=127.0.0.1:<p>, connected_at=<s>)';

for (const workers of [0, 2]) {
  test(`lists and lookups print their lines (${workers} workers)`, async () => {
    await using node = await startCtlNode(workers);
    for (const words of ['clients list', 'sessions list', 'subscriptions list', 'routes list']) {
      assert.deepEqual(await said(node, ...words.split(' ')), [[], 0]);
    }
    for (const id of ['a', 'b', 'c']) {
      const client = await node.client(id, { clean: false, ...(id === 'b' && { username: 'u' }) });
      await client.subscribeAsync(['t/+', `$share/g/${id}`], { qos: 1 });
    }
    const lines = [
      connection('a', 'undefined'),
      connection('b', 'u'),
      connection('c', 'undefined'),
    ];
    assert.deepEqual(await said(node, 'clients', 'list'), [lines, 0]);
    assert.deepEqual(await said(node, 'clients', 'show', 'b'), [lines.slice(1, 2), 0]);
    assert.deepEqual(await said(node, 'sessions', 'list'), [
      ['a', 'b', 'c'].map((id) => session(id, 2)),
      0,
    ]);
    assert.deepEqual(await said(node, 'sessions', 'show', 'c'), [[session('c', 2)], 0]);
    assert.deepEqual(await said(node, 'subscriptions', 'list'), [
      ['a -> a', 'a -> t/+', 'b -> b', 'b -> t/+', 'c -> c', 'c -> t/+'],
      0,
    ]);
    assert.deepEqual(await said(node, 'subscriptions', 'show', 'b'), [['b -> b', 'b -> t/+'], 0]);
    const name = 'broker@127.0.0.1';
    assert.deepEqual(await said(node, 'routes', 'list'), [
      ['a', 'b', 'c', 't/+'].map((topic) => `${topic} -> ${name}`),
      0,
    ]);
    assert.deepEqual(await said(node, 'routes', 'show', 't/+'), [[`t/+ -> ${name}`], 0]);
    assert.deepEqual(await said(node, 'routes', 'show', 't/x'), [[], 0]);
    for (const words of ['clients show', 'sessions show', 'subscriptions show']) {
      assert.deepEqual(await said(node, ...words.split(' '), 'x'), [['Not Found.'], 0]);
    }
  });

  test(`kicking, cleaning, subscribing and unsubscribing say what became of it (${workers} workers)`, async () => {
    await using node = await startCtlNode(workers);
    const client = await node.client('a', { clean: false });
    assert.deepEqual(await said(node, 'sessions', 'clean-persistent', 'a'), [
      ["Couldn't clean a session with a valid connection."],
      1,
    ]);
    assert.deepEqual(await said(node, 'subscriptions', 'add', 'a', 't/y', '3'), [
      ['QoS should be 0, 1, 2'],
      1,
    ]);
    assert.deepEqual(await said(node, 'subscriptions', 'add', 'a', 't/y', '1'), [['ok'], 0]);
    assert.deepEqual(await said(node, 'subscriptions', 'show', 'a'), [['a -> t/y'], 0]);
    assert.deepEqual(await said(node, 'subscriptions', 'del', 'a', 't/y'), [['ok'], 0]);
    assert.deepEqual(await said(node, 'subscriptions', 'show', 'a'), [['Not Found.'], 0]);
    const missing = [['Error: Session not found!'], 1];
    assert.deepEqual(await said(node, 'subscriptions', 'add', 'x', 't', '0'), missing);
    assert.deepEqual(await said(node, 'subscriptions', 'del', 'x', 't'), missing);
    assert.deepEqual(await said(node, 'subscriptions', 'add', 'a', 't/#/x', '0'), [
      ['Error: Bad topic!'],
      1,
    ]);
    const closed = new Promise<void>((resolve) => void client.once('close', resolve));
    assert.deepEqual(await said(node, 'clients', 'kick', 'a'), [[], 0]);
    await closed;
    assert.deepEqual(await said(node, 'clients', 'kick', 'a'), [['Not Found.'], 1]);
    assert.deepEqual(await said(node, 'sessions', 'clean-persistent', 'a'), [
      ['Clean persistent session successfully.'],
      0,
    ]);
    assert.deepEqual(await said(node, 'sessions', 'clean-persistent', 'a'), [['Not Found.'], 1]);
  });
}
