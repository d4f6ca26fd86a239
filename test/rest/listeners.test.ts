// Listeners over HTTP: all of them in one order, counts over all threads.

import assert from 'node:assert/strict';
import test from 'node:test';
import { connectAsync, type MqttClient } from 'mqtt';
import { type Managed, startManaged } from '#test/managed';

const name = 'broker@127.0.0.1';

interface ListenerRow {
  readonly protocol: string;
  readonly listen_on: string;
  readonly acceptors: number;
  readonly current_conns: number;
  readonly max_conns: number;
  readonly shutdown_count: readonly [] | Readonly<Record<string, number>>;
}

async function listeners(managed: Managed): Promise<ListenerRow[]> {
  const { body } = await managed.get(`/nodes/${name}/listeners`);
  assert.equal(body.code, 0);
  return body.data as ListenerRow[];
}

const settings = {
  allow_anonymous: 'true',
  'listener.tcp.external.max_connections': '77',
  'listener.ws.external': '127.0.0.1:0',
  'listener.ssl.external': '127.0.0.1:0',
  'dashboard.listener.http': '127.0.0.1:0',
};

/** The listener counts when the socket is gone, which nobody announces: asked again until it is so. */
async function until(
  managed: Managed,
  isSo: (rows: readonly ListenerRow[]) => boolean,
): Promise<ListenerRow[]> {
  const deadline = AbortSignal.timeout(10_000);
  for (;;) {
    const rows = await listeners(managed);
    if (isSo(rows)) return rows;
    assert.ok(!deadline.aborted, JSON.stringify(rows));
  }
}

for (const workers of [0, 2]) {
  test(`listeners are listed in order, with counts over all threads (${workers} workers)`, async () => {
    await using managed = await startManaged({ workers, settings });
    const url = `mqtt://127.0.0.1:${managed.mqttPort}`;
    const clients: MqttClient[] = [];
    await using _end = {
      async [Symbol.asyncDispose]() {
        await Promise.all(clients.map((client) => client.endAsync(true)));
      },
    };
    for (let i = 0; i < 6; i++) {
      clients.push(await connectAsync(url, { clientId: `c${i}`, reconnectPeriod: 0 }));
    }
    const rows = await listeners(managed);
    assert.deepEqual(
      rows.map(({ protocol }) => protocol),
      ['mqtt:tcp', 'mqtt:ssl', 'http:dashboard', 'http:management', 'mqtt:ws'],
    );
    const [tcp] = rows;
    assert.deepEqual(tcp, {
      protocol: 'mqtt:tcp',
      listen_on: `127.0.0.1:${managed.mqttPort}`,
      acceptors: 8,
      current_conns: 6,
      max_conns: 77,
      shutdown_count: [],
    });
    assert.deepEqual(
      rows.map((row) => Object.keys(row).sort()),
      rows.map(() => Object.keys(tcp).sort()),
    );
    const { body } = await managed.get('/listeners');
    const [whole] = body.data as { node: string; listeners: ListenerRow[] }[];
    assert.equal(whole?.node, name);
    assert.equal(whole?.listeners.length, 5);

    for (const client of clients.slice(0, 2)) {
      assert.equal(
        await managed.node.workers.atClient(client.options.clientId ?? '', 'kick', [
          client.options.clientId ?? '',
        ]),
        true,
      );
    }
    const [after] = await until(managed, ([row]) => row?.current_conns === 4);
    assert.deepEqual(after?.shutdown_count, { kicked: 2 });
  });
}
