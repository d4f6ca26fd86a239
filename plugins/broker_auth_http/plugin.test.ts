// The whole broker with the plugin, real clients and a real web service: with one thread and with workers.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { connect as connectTls } from 'node:tls';
import { type Managed, type ManagedOptions, startManaged } from '#test/managed';
import { type ConnectOptions, RawClient } from '#test/raw-client';
import { Watch } from '#test/watch';
import {
  type Answer,
  type Asked,
  AuthServer,
  faults,
  makePair,
  say,
  sayJson,
  temporaryDir,
} from './auth-server-fixture.ts';

const name = 'broker_auth_http';
const ada: ConnectOptions = { clientId: 'c1', username: 'ada', password: Buffer.from('pa55word') };

function start(
  server: AuthServer,
  workers: number,
  settings: Readonly<Record<string, string>> = {},
  options: Omit<ManagedOptions, 'settings' | 'workers'> = {},
): Promise<Managed> {
  return startManaged({
    workers,
    settings: {
      'plugins.loaded': name,
      'auth.http.auth_req': server.url(),
      'auth.http.request.retry_times': '0',
      ...settings,
    },
    ...options,
  });
}

async function connackOf(port: number, options = ada, version: 4 | 5 = 5): Promise<number> {
  await using client = await RawClient.open(port, version);
  return (await client.connect(options)).reasonCode;
}

/** An answer for each path; 404 for others. */
function byPath(paths: Readonly<Record<string, Answer>>): Answer {
  return (response, asked) => (paths[asked.path] ?? say(404))(response, asked);
}

function askedFor(server: AuthServer, path: string): Asked[] {
  return server.asked.filter((asked) => asked.path === path);
}

async function metricsOf(managed: Managed): Promise<Readonly<Record<string, number>>> {
  const { body } = await managed.get('/metrics');
  const [first] = body.data as [{ readonly metrics: Record<string, number> }];
  return first.metrics;
}

for (const workers of [0, 2]) {
  const on = `${workers} workers`;

  test(`a client is told what the service said, ${on}`, async () => {
    const answers: readonly (readonly [string, Answer, number, number])[] = [
      ['200', say(200, 'ok'), 0, 0],
      ['401', say(401), 0x87, 5],
      ['403', say(403), 0x87, 5],
      ['404', say(404), 0x87, 5],
      ['500', say(500), 0x87, 5],
      ['a redirection', say(302, '', { location: '/mqtt/other' }), 0x87, 5],
      ['deny', say(200, 'deny'), 0x87, 5],
      ['broken JSON', say(200, '{"mountpoint":'), 0x88, 3],
      ['a mountpoint with wildcards', sayJson({ mountpoint: 'a/#' }), 0x88, 3],
      ...Object.entries(faults).map(([fault, answer]) => [fault, answer, 0x88, 3] as const),
    ];
    await using server = await AuthServer.start();
    await using managed = await start(server, workers, { 'auth.http.request.timeout': '150ms' });
    for (const [fault, answer, v5, v3] of answers) {
      server.answer = answer;
      assert.equal(await connackOf(managed.mqttPort), v5, `${fault}, version 5`);
      assert.equal(await connackOf(managed.mqttPort, ada, 4), v3, `${fault}, version 3.1.1`);
    }
    assert.ok(askedFor(server, '/mqtt/other').length === 0);
    assert.ok(!managed.logged.some((line) => line.includes('pa55word')));
    const metrics = await metricsOf(managed);
    const refused = 2 * (answers.length - 1);
    assert.deepEqual(
      [metrics['auth/http/success'], metrics['auth/http/failure'], metrics['auth/http/ignore']],
      [2, refused, 0],
    );
  });

  test(`the service that is left without answer opens for nobody, whoever else would, ${on}`, async () => {
    await using server = await AuthServer.start(faults.reset);
    const settings = { allow_anonymous: 'true', 'auth.http.acl_req': server.url('/mqtt/acl') };
    await using managed = await start(server, workers, settings);
    assert.equal(await connackOf(managed.mqttPort), 0x88);
    server.answer = byPath({ '/mqtt/auth': say(200), '/mqtt/acl': faults.reset });
    await using client = await RawClient.open(managed.mqttPort);
    await client.connect(ada);
    const denied = await client.publish('a', 'x', { qos: 1 });
    assert.equal(denied?.reasonCode, 0x87);
    assert.deepEqual((await client.subscribe('a')).reasonCodes, [0x87]);
    // A denial for want of an answer is not remembered; one that was an answer is.
    server.answer = say(200);
    await using other = await RawClient.open(managed.mqttPort);
    await other.connect({ ...ada, clientId: 'c2' });
    await other.subscribe('a');
    assert.equal((await client.publish('a', 'x', { qos: 1 }))?.reasonCode, 0);
    assert.equal((await other.receive()).topic, 'a');
  });

  test(`rights are asked for once and remembered, but not those of a failing service, ${on}`, async () => {
    await using server = await AuthServer.start();
    await using managed = await start(server, workers, {
      'auth.http.acl_req': server.url('/mqtt/acl'),
      acl_nomatch: 'deny',
    });
    await using client = await RawClient.open(managed.mqttPort);
    await client.connect(ada);
    const publish = async (topic: string): Promise<number | undefined> =>
      (await client.publish(topic, 'x', { qos: 1 }))?.reasonCode;
    server.answer = say(403);
    assert.deepEqual([await publish('denied'), await publish('denied')], [0x87, 0x87]);
    server.answer = say(503);
    assert.deepEqual([await publish('failing'), await publish('failing')], [0x87, 0x87]);
    server.answer = say(200, 'ignore');
    assert.deepEqual([await publish('ignored'), await publish('ignored')], [0x87, 0x87]);
    server.answer = say(200);
    const allowed = await publish('allowed');
    assert.ok(allowed === 0 || allowed === 0x10, `${allowed}`);
    assert.deepEqual((await client.subscribe('s/#', { qos: 1 })).reasonCodes, [1]);
    assert.deepEqual(
      askedFor(server, '/mqtt/acl').map(({ method, params }) => [
        method,
        params['access'],
        params['topic'],
      ]),
      [
        ['GET', '2', 'denied'],
        ['GET', '2', 'failing'],
        ['GET', '2', 'failing'],
        ['GET', '2', 'ignored'],
        ['GET', '2', 'allowed'],
        ['GET', '1', 's/#'],
      ],
    );
    const metrics = await metricsOf(managed);
    assert.deepEqual(
      [metrics['acl/http/allow'], metrics['acl/http/deny'], metrics['acl/http/ignore']],
      [2, 3, 1],
    );
  });

  test(`users whose names begin with $ have no rights from the service, ${on}`, async () => {
    await using server = await AuthServer.start(byPath({ '/mqtt/auth': say(200) }));
    await using managed = await start(server, workers, {
      'auth.http.acl_req': server.url('/mqtt/acl'),
      acl_nomatch: 'allow',
    });
    await using client = await RawClient.open(managed.mqttPort);
    await client.connect({ ...ada, username: '$ada' });
    assert.deepEqual((await client.subscribe('a')).reasonCodes, [0]);
    assert.equal(askedFor(server, '/mqtt/acl').length, 0);
  });

  test(`whoever calls himself by a name with $ and is let in by others is asked about, ${on}`, async () => {
    const answers = byPath({ '/mqtt/auth': say(200, 'ignore'), '/mqtt/acl': say(403) });
    await using server = await AuthServer.start(answers);
    await using managed = await start(server, workers, {
      'auth.http.acl_req': server.url('/mqtt/acl'),
      ...{ acl_nomatch: 'allow', allow_anonymous: 'true' },
    });
    await using client = await RawClient.open(managed.mqttPort);
    await client.connect({ ...ada, username: '$ada' });
    assert.deepEqual((await client.subscribe('a')).reasonCodes, [0x87]);
  });

  test(`a superuser is not asked for rights; who is one only the service says, ${on}`, async () => {
    const superuser: Answer = (response, asked) =>
      (asked.params['username'] === 'root' ? say(200) : say(403))(response, asked);
    await using server = await AuthServer.start();
    await using managed = await start(server, workers, {
      'auth.http.super_req': server.url('/mqtt/superuser'),
      'auth.http.acl_req': server.url('/mqtt/acl'),
    });
    const subackOf = async (username: string, answer: Answer, last: Answer): Promise<number> => {
      server.answer = byPath({ '/mqtt/auth': answer, '/mqtt/superuser': last });
      await using client = await RawClient.open(managed.mqttPort);
      assert.equal((await client.connect({ ...ada, username })).reasonCode, 0);
      return (await client.subscribe('a')).reasonCodes[0] ?? -1;
    };
    assert.equal(await subackOf('root', say(200), superuser), 0);
    assert.equal(await subackOf('ada', say(200), superuser), 0x87);
    for (const last of [faults.reset, say(200, 'deny'), say(200, '{'), say(500)]) {
      assert.equal(await subackOf('root', say(200), last), 0x87);
    }
    const before = askedFor(server, '/mqtt/superuser').length;
    assert.equal(await subackOf('ada', sayJson({ is_superuser: true }), say(403)), 0);
    assert.equal(await subackOf('root', sayJson({ is_superuser: false }), say(200)), 0x87);
    assert.equal(askedFor(server, '/mqtt/superuser').length, before);
  });

  test(`the service gives a mountpoint in place of that of the zone, ${on}`, async () => {
    await using server = await AuthServer.start((response, asked) =>
      (asked.params['username'] === 'ada' ? sayJson({ mountpoint: 'dev/%c/' }) : say(200))(
        response,
        asked,
      ),
    );
    await using managed = await start(server, workers, {
      'zone.external.mountpoint': 'zone/',
      acl_nomatch: 'allow',
    });
    await using device = await RawClient.open(managed.mqttPort);
    await device.connect(ada);
    await using other = await RawClient.open(managed.mqttPort);
    await other.connect({ clientId: 'c2', username: 'bob' });
    await other.subscribe('t/#');
    await device.subscribe('t/#');
    await device.publish('t/1', 'mine', { qos: 1 });
    assert.deepEqual((await device.receive()).payload.toString(), 'mine');
    await other.expectNothing();
    const { body } = await managed.get('/routes');
    const topics = (body.data as { topic: string }[]).map(({ topic }) => topic);
    assert.deepEqual(topics.sort(), ['dev/c1/t/#', 'zone/t/#']);
  });

  test(`parallel connects do not wait for each other at a slow service, ${on}`, async () => {
    const count = 200;
    const held: (() => void)[] = [];
    await using server = await AuthServer.start((response) => {
      held.push(() => response.end());
      // The gate opens when all of them stand before it.
      if (held.length === count) for (const open of held) open();
    });
    await using managed = await start(server, workers, {
      'auth.http.pool_size': String(count),
      'auth.http.request.timeout': '0',
      'plugins.hook_deadline': '1m',
      'listener.tcp.external.max_conn_rate': String(count * 10),
    });
    const codes = await Promise.all(
      Array.from({ length: count }, async (_, i) => {
        const client = await RawClient.open(managed.mqttPort);
        const clientId = `c${i}`;
        client.send({
          type: 'connect',
          version: 5,
          isBridge: false,
          cleanStart: true,
          keepaliveSeconds: 0,
          clientId,
          properties: {},
        });
        const { reasonCode } = await client.next('connack', 15_000);
        client.destroy();
        return reasonCode;
      }),
    );
    assert.deepEqual(new Set(codes), new Set([0]));
    assert.equal(server.underWayMost, count);
  });

  test(`a service that is down raises an alarm, keeps nobody waiting, and is found again, ${on}`, async () => {
    await using server = await AuthServer.start(faults.reset);
    await using managed = await start(server, workers, {
      'auth.http.breaker.failures': '1',
      'auth.http.breaker.pause': '1ms',
    });
    const watch = new Watch();
    const { alarms } = managed.node;
    alarms.onChange(() => watch.wake());
    const until = (isRaised: boolean): Promise<true> =>
      watch.until(
        () => alarms.isRaised('auth_http_down') === isRaised || undefined,
        10_000,
        () => new Error(`The alarm is not ${isRaised ? 'raised' : 'cleared'}`),
      );
    assert.equal(await connackOf(managed.mqttPort), 0x88);
    await until(true);
    const [{ details } = { details: {} }] = alarms.present();
    assert.deepEqual(details, { servers: new URL(server.url()).origin });
    server.answer = say(200);
    // Each worker finds out for itself; the kernel chooses whom a client comes to.
    while (alarms.isRaised('auth_http_down')) await connackOf(managed.mqttPort);
    assert.equal(await connackOf(managed.mqttPort), 0);
    server.answer = faults.reset;
    assert.equal(await connackOf(managed.mqttPort), 0x88);
    await until(true);
    assert.equal((await managed.ctl('plugins', 'unload', name)).code, 0);
    await until(false);
  });

  test(`what is under way ends when the plugin is unloaded, and it can be loaded again, ${on}`, async () => {
    await using server = await AuthServer.start(faults.silence);
    const settings = { allow_anonymous: 'true', 'auth.http.acl_req': server.url('/mqtt/acl') };
    await using managed = await start(server, workers, settings);
    const waiting = connackOf(managed.mqttPort);
    await server.untilAsked(1);
    assert.equal((await managed.ctl('plugins', 'unload', name)).code, 0);
    assert.equal(await waiting, 0x88);
    await server.until(() => server.underWay === 0 || undefined);
    assert.equal(await connackOf(managed.mqttPort), 0);
    assert.equal(server.asked.length, 1);
    assert.equal((await managed.ctl('plugins', 'load', name)).code, 0);
    server.answer = say(403);
    assert.equal(await connackOf(managed.mqttPort), 0x87);
  });

  test(`a password that JSON cannot say is a wrong password, ${on}`, async () => {
    await using server = await AuthServer.start();
    await using managed = await start(server, workers, {
      'auth.http.auth_req.content_type': 'json',
    });
    const code = await connackOf(managed.mqttPort, { ...ada, password: Buffer.from([0xff]) });
    assert.equal(code, 0x86);
    assert.equal(server.asked.length, 0);
  });

  test(`the service is asked by TLS with a certificate, ${on}`, async () => {
    using dir = temporaryDir();
    const client = makePair(dir.path, 'client');
    const pair = makePair(dir.path, 'server');
    await using server = await AuthServer.start(say(200), pair);
    await using managed = await start(server, workers, {
      'auth.http.auth_req': server.url('/', 'https'),
      'auth.http.ssl.cacertfile': pair.certFile,
      'auth.http.ssl.certfile': client.certFile,
      'auth.http.ssl.keyfile': client.keyFile,
    });
    assert.equal(await connackOf(managed.mqttPort), 0);
  });
}

test('a request says what it is told to, in each form', async () => {
  const odd: ConnectOptions = {
    clientId: 'c&1=2,%u',
    username: 'ü "ada"',
    password: Buffer.from('p+w%20&x=y'),
  };
  const shown = { c: odd.clientId, u: odd.username, p: 'p+w%20&x=y', a: '127.0.0.1' };
  const params = String.raw`c=%c,u=%u,p=%P,a=%a,l=%l,cn=%C,d=%d,fixed=1\,2`;
  const forms: readonly (readonly [string, string])[] = [
    ['get', 'form'],
    ['post', 'form'],
    ['put', 'form'],
    ['post', 'json'],
    ['put', 'json'],
  ];
  for (const [method, form] of forms) {
    await using server = await AuthServer.start();
    await using managed = await start(server, 0, {
      'auth.http.auth_req': server.url('/mqtt/auth?key=1'),
      'auth.http.auth_req.method': method,
      'auth.http.auth_req.params': params,
      'auth.http.auth_req.content_type': form,
      'auth.http.header.x-from': 'the broker',
    });
    assert.equal(await connackOf(managed.mqttPort, odd), 0);
    const asked = await server.untilAsked(1);
    const full = { ...shown, l: String(managed.mqttPort), cn: '', d: '', fixed: '1,2' };
    assert.deepEqual([asked.method, asked.path], [method.toUpperCase(), '/mqtt/auth']);
    assert.equal(asked.headers['x-from'], 'the broker');
    if (method === 'get') {
      assert.deepEqual(asked.params, { key: '1', ...full });
      assert.equal(asked.body, '');
      continue;
    }
    assert.equal(asked.query, '?key=1');
    const body = Buffer.from(asked.body, 'latin1').toString();
    const read = form === 'json' ? JSON.parse(body) : Object.fromEntries(new URLSearchParams(body));
    assert.deepEqual(read, full);
    assert.equal(
      asked.headers['content-type'],
      form === 'json' ? 'application/json' : 'application/x-www-form-urlencoded',
    );
  }
});

test('the service is told the certificate, port and mountpoint of the client', async () => {
  using dir = temporaryDir();
  const pair = makePair(dir.path, 'device');
  await using server = await AuthServer.start();
  await using managed = await start(server, 0, {
    'auth.http.auth_req.params': 'l=%l,cn=%C,d=%d,a=%a',
    'auth.http.acl_req': server.url('/mqtt/acl'),
    'auth.http.acl_req.params': 'l=%l,cn=%C,d=%d,a=%a,t=%t,m=%m,A=%A',
    'zone.external.mountpoint': 'zone/%c/',
    'listener.ssl.external': '127.0.0.1:0',
    'listener.ssl.external.zone': 'external',
    'listener.ssl.external.certfile': pair.certFile,
    'listener.ssl.external.keyfile': pair.keyFile,
    'listener.ssl.external.cacertfile': pair.certFile,
    'listener.ssl.external.verify': 'verify_peer',
  });
  const port = managed.node.ports.at(-1) ?? 0;
  const [cert, key] = [readFileSync(pair.certFile), readFileSync(pair.keyFile)];
  const socket = connectTls({ host: '127.0.0.1', port, cert, key, ca: cert });
  await once(socket, 'secureConnect');
  await using client = new RawClient(socket, 5);
  await client.connect(ada);
  await client.publish('a/b', 'x', { qos: 1 });
  const ofClient = { l: String(port), cn: 'device', d: 'CN=device', a: '127.0.0.1' };
  assert.deepEqual(
    server.asked.map(({ params }) => params),
    [ofClient, { ...ofClient, t: 'a/b', m: 'zone/c1/', A: '2' }],
  );
});
