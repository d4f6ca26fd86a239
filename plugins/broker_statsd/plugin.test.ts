// A real node that sends to a real HTTP server and a real UDP socket.

import assert from 'node:assert/strict';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'node:test';
import mqtt from 'mqtt';
import { type Managed, startManaged } from '#test/managed';
import { Watch } from '#test/watch';

const deadlineMs = 15_000;

interface Push {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly type: string | undefined;
  readonly body: string;
}

/** A push gateway that answers as it is told, and keeps what it got. */
class Gateway implements AsyncDisposable {
  readonly pushes: Push[] = [];
  status = 200;
  underWay = 0;
  underWayMost = 0;
  readonly #server: Server;
  readonly #watch = new Watch();

  private constructor() {
    this.#server = createServer((request, response) => {
      this.underWayMost = Math.max(this.underWayMost, ++this.underWay);
      let body = '';
      request.on('data', (chunk: Buffer) => {
        body += chunk.toString();
      });
      request.on('end', () => {
        const { method, url, headers } = request;
        this.pushes.push({ method, url, type: headers['content-type'], body });
        response.writeHead(this.status).end();
        this.underWay--;
        this.#watch.wake();
      });
    });
  }

  static async open(): Promise<Gateway> {
    const gateway = new Gateway();
    gateway.#server.listen(0, '127.0.0.1');
    await once(gateway.#server, 'listening');
    return gateway;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** The first push from the given one on that passes. */
  push(from: number, passes: (push: Push) => boolean = () => true): Promise<Push> {
    const late = (): Error => new Error(`Cannot see the push: ${this.pushes.length} came`);
    return this.#watch.until(() => this.pushes.slice(from).find(passes), deadlineMs, late);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

class Statsd implements AsyncDisposable {
  readonly datagrams: string[] = [];
  readonly #socket: Socket = createSocket('udp4');
  readonly #watch = new Watch();

  static async open(): Promise<Statsd> {
    const statsd = new Statsd();
    statsd.#socket.on('message', (datagram) => {
      statsd.datagrams.push(datagram.toString());
      statsd.#watch.wake();
    });
    statsd.#socket.bind(0, '127.0.0.1');
    await once(statsd.#socket, 'listening');
    return statsd;
  }

  get port(): number {
    return this.#socket.address().port;
  }

  get lines(): string[] {
    return this.datagrams.flatMap((datagram) => datagram.split('\n'));
  }

  line(pattern: RegExp): Promise<string> {
    const late = (): Error => new Error(`Cannot see ${pattern} among ${this.lines.length} lines`);
    return this.#watch.until(() => this.lines.find((one) => pattern.test(one)), deadlineMs, late);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.close();
  }
}

function startWith(workers: number, settings: Readonly<Record<string, string>>): Promise<Managed> {
  return startManaged({
    workers,
    settings: {
      allow_anonymous: 'true',
      acl_nomatch: 'allow',
      'node.name': 'broker@10.0.0.1',
      'plugins.loaded': 'broker_management,broker_statsd',
      'statsd.interval': '100',
      ...settings,
    },
  });
}

async function publishOnce({ mqttPort: port }: Managed): Promise<void> {
  const client = await mqtt.connectAsync({ host: '127.0.0.1', port });
  await client.publishAsync('t', 'x', { qos: 1 });
  await client.endAsync();
}

async function logged(managed: Managed, event: string): Promise<string[]> {
  const signal = AbortSignal.timeout(deadlineMs);
  for (;;) {
    const found = managed.logged.filter((line) => line.includes(`"${event}"`));
    if (found.length > 0) return found;
    signal.throwIfAborted();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

for (const workers of [0, 2]) {
  test(`figures go to a push gateway and to StatsD, with ${workers} workers`, async () => {
    await using gateway = await Gateway.open();
    await using statsd = await Statsd.open();
    await using managed = await startWith(workers, {
      'statsd.push.gateway.server': `127.0.0.1:${gateway.port}`,
      'statsd.udp.server': `127.0.0.1:${statsd.port}`,
      'statsd.udp.prefix': 'plant.node1',
    });
    await publishOnce(managed);
    const has = (line: string) => (push: Push) => push.body.split('\n').includes(line);
    const { method, url, type, body } = await gateway.push(
      0,
      has('broker_packets_publish_received 1'),
    );
    assert.equal(method, 'POST');
    assert.equal(url, '/metrics/job/broker/instance/broker~10.0.0.1');
    assert.equal(type, 'text/plain; version=0.0.4; charset=utf-8');
    assert.ok(has('broker_packets_received_total{type="publish"} 1')({ body } as Push));
    assert.ok(has('broker_packets_connect 1')({ body } as Push));
    const types = body.match(/^# TYPE \S+/gm) ?? [];
    assert.equal(new Set(types).size, types.length, 'every family stands once');

    await statsd.line(/^plant\.node1\.packets\.publish\.received:1\|c$/);
    await statsd.line(/^plant\.node1\.connections\.max:1\|g$/);
    await statsd.line(/^plant\.node1\.statsd\.push\.success:\d+\|c$/);
    assert.ok(statsd.datagrams.every(({ length }) => length <= 1432));
    await gateway.push(gateway.pushes.length + 2);
    const counted = statsd.lines.filter((line) => line.includes('packets.publish.received:'));
    assert.equal(counted.length, 1, 'what was counted is told once');
    assert.equal(gateway.underWayMost, 1);
  });
}

test('a gateway that fails is told once in the log, and once when it is back', async () => {
  await using gateway = await Gateway.open();
  gateway.status = 500;
  const server = `127.0.0.1:${gateway.port}`;
  await using managed = await startWith(0, { 'statsd.push.gateway.server': `http://${server}/` });
  await gateway.push(3);
  const failed = await logged(managed, 'statsd.push.failed');
  assert.equal(failed.length, 1);
  assert.match(failed[0] ?? '', /found status 500, want 2xx/);
  gateway.status = 202;
  assert.equal((await logged(managed, 'statsd.push.recovered')).length, 1);
  assert.match(gateway.pushes[0]?.url ?? '', /^\/metrics\/job\//);
  const { body } = await managed.get('/metrics');
  const [{ metrics }] = body.data as [{ metrics: Record<string, number> }];
  assert.ok((metrics['statsd/push/failure'] ?? 0) >= 4);
});

test('a gateway that is not there, and a name that nobody knows, cost nothing else', async () => {
  await using gateway = await Gateway.open();
  const { port } = gateway;
  await gateway[Symbol.asyncDispose]();
  await using managed = await startWith(0, {
    'statsd.push.gateway.server': `127.0.0.1:${port}`,
    'statsd.udp.server': 'no-such-host.invalid:8125',
  });
  await logged(managed, 'statsd.push.failed');
  await logged(managed, 'statsd.udp.failed');
  await publishOnce(managed);
});

test('without a target the plugin cannot be loaded', async () => {
  await using managed = await startManaged({});
  const { stdout, code } = await managed.ctl('plugins', 'load', 'broker_statsd');
  assert.equal(code, 1);
  assert.match(stdout, /neither statsd.push.gateway.server nor statsd.udp.server is set/);
});

test('values that are none are refused, and those of the original are read', async () => {
  const wrong = {
    'statsd.interval': '50',
    'statsd.udp.server': 'host',
    'statsd.udp.prefix': 'a..b',
  };
  for (const [key, value] of Object.entries(wrong)) {
    await assert.rejects(
      startManaged({ settings: { [key]: value } }),
      { name: 'ConfigError' },
      key,
    );
  }
  const settings = { 'statsd.interval': '15000', 'statsd.udp.server': '[::1]:8125' };
  await using managed = await startManaged({ settings });
  assert.deepEqual(managed.parts.settings.plugins.get('broker_statsd'), {
    gateway: undefined,
    intervalMs: 15_000,
    udp: { host: '::1', port: 8125, prefix: 'broker' },
  });
});
