// The lines of `broker_ctl` that programs read, character by character next to what the API answers for
// the same things at the same moment; and every refusal: its line, and an exit code that is not 0.

import assert from 'node:assert/strict';
import test from 'node:test';
import { type Managed, startManaged } from '#test/managed';
import { RawClient } from '#test/raw-client';

const node = 'broker@127.0.0.1';
const settings = {
  allow_anonymous: 'true',
  acl_nomatch: 'allow',
  'dashboard.listener.http': '127.0.0.1:0',
};

type Row = Readonly<Record<string, string | number | boolean>>;

async function rowsOf(managed: Managed, path: string): Promise<readonly Row[]> {
  return (await managed.get(path)).body.data as readonly Row[];
}

/** What a command that is done prints. */
async function printed(managed: Managed, line: string): Promise<string> {
  const { stdout, stderr, code } = await managed.ctl(...line.split(' '));
  assert.deepEqual([stderr, code], ['', 0], line);
  return stdout;
}

const seconds = (text: unknown): number => Date.parse(String(text).replace(' ', 'T')) / 1000;

/** Command, and the line on stdout that says why it was not done. */
const refusals: readonly (readonly [string, string])[] = [
  ['clients kick nobody', 'Not Found.'],
  ['sessions clean-persistent nobody', 'Not Found.'],
  ['sessions clean-persistent c', "Couldn't clean a session with a valid connection."],
  ['subscriptions add nobody t 1', 'Error: Session not found!'],
  ['subscriptions add c t 3', 'QoS should be 0, 1, 2'],
  ['subscriptions del nobody t', 'Error: Session not found!'],
  ['plugins load broker_dashboard', 'load plugin error: already_started'],
  ['plugins load broker_none', 'load plugin error: not_found'],
  ['plugins unload broker_none', 'unload plugin error: not_found'],
  ['plugins unload broker_management', 'Plugin broker_management can not be unloaded'],
  ['plugins reload broker_none', 'Reload plugin error: plugin_not_exist'],
  ['listeners stop mqtt:tcp 1', 'Failed to stop mqtt:tcp listener on 1, error:not_found'],
  ['trace stop client nobody', '[error] stop tracing client_id nobody: not_found'],
  ['trace stop topic t/#', '[error] stop tracing topic t/#: not_found'],
  [
    'trace start client c broker.log',
    '[error] trace client_id c: Cannot trace into "broker.log": it belongs to the log',
  ],
  ['mgmt update nobody true', 'Error: ont_found'],
  ['admins add admin x', 'Error: <<"Username Already Exist">>'],
  ['admins passwd nobody x', '{error,<<"Username Not Found">>}'],
  ['admins del nobody', '{error,<<"Username Not Found">>}'],
];

for (const workers of [0, 2]) {
  test(`lists are printed as the API has them (${workers} workers)`, async () => {
    await using managed = await startManaged({ workers, settings });
    await using client = await RawClient.open(managed.mqttPort, 4);
    await client.connect({ clientId: 'c', username: 'u', keepaliveSeconds: 9 });
    await client.subscribe(['t/#', '$share/g/s'], { qos: 1 });
    const [connection] = await rowsOf(managed, '/connections/c');
    const peer = `127.0.0.1:${connection?.['port']}`;
    const shown =
      `Connection(c, clean_start=true, username=u, peername=${peer}, ` +
      `connected_at=${seconds(connection?.['connected_at'])})\n`;
    assert.equal(await printed(managed, 'clients list'), shown);
    assert.equal(await printed(managed, 'clients show c'), shown);
    const [session] = await rowsOf(managed, '/sessions/c');
    const kept =
      'Session(c, clean_start=true, expiry_interval=0, subscriptions_count=2, ' +
      `max_inflight=${session?.['max_inflight']}, inflight=0, mqueue_len=0, mqueue_dropped=0, ` +
      'awaiting_rel=0, deliver_msg=0, enqueue_msg=0, ' +
      `created_at=${seconds(session?.['created_at'])})\n`;
    assert.equal(await printed(managed, 'sessions list'), kept);
    assert.equal(await printed(managed, 'sessions show c'), kept);
    assert.equal(await printed(managed, 'subscriptions list'), 'c -> s\nc -> t/#\n');
    assert.equal(await printed(managed, 'routes list'), `s -> ${node}\nt/# -> ${node}\n`);
    assert.equal(await printed(managed, 'routes show t/#'), `t/# -> ${node}\n`);
    const listeners = await rowsOf(managed, `/nodes/${node}/listeners`);
    const blocks = listeners.map(
      (row) =>
        `listener on ${row['protocol']}:${row['listen_on']}\n` +
        `  acceptors       : ${row['acceptors']}\n  max_conns       : ${row['max_conns']}\n` +
        `  current_conn    : ${row['protocol'] === 'mqtt:tcp' ? 1 : 0}\n` +
        '  shutdown_count  : []\n',
    );
    assert.equal(await printed(managed, 'listeners'), blocks.join(''));
    const stats = Object.entries((await rowsOf(managed, '/stats'))[0] ?? {});
    const lines = stats.filter(([key]) => key !== 'node').sort(([a], [b]) => (a < b ? -1 : 1));
    const text = lines.map(([key, count]) => `${key.padEnd(30)}: ${count}\n`).join('');
    assert.equal(await printed(managed, 'broker stats'), text);
  });

  test(`what cannot be done is said in its line and by the exit code (${workers} workers)`, async () => {
    await using managed = await startManaged({ workers, settings });
    await using client = await RawClient.open(managed.mqttPort);
    await client.connect({ clientId: 'c' });
    for (const [line, why] of refusals) {
      const { stdout, stderr, code } = await managed.ctl(...line.split(' '));
      assert.deepEqual([stdout, stderr, code], [`${why}\n`, '', 1], line);
    }
    for (const line of ['clients show x', 'sessions show x', 'subscriptions show x']) {
      assert.equal(await printed(managed, line), 'Not Found.\n');
    }
    assert.equal(await printed(managed, 'routes show x'), '');
  });
}
