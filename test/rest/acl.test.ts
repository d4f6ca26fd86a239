// The file of access rules in a whole node: while it runs, read anew, and what is remembered of its
// decisions. Classes of known weaknesses are named by one of their numbers.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import test from 'node:test';
import { promisify } from 'node:util';
import { startManaged } from '#test/managed';
import { RawClient } from '#test/raw-client';
import { notAuthorized, publishCode, RuledNode, subscribeCode, until } from './acl-fixture.ts';

const run = promisify(execFile);

interface RightRow {
  readonly access: string;
  readonly topic: string;
  readonly result: string;
  readonly age: number;
}

for (const workers of [0, 2]) {
  test(`rules decide about publishes and subscriptions in every worker, ${workers} workers`, async () => {
    await using node = await RuledNode.start({
      workers,
      rules: `
        {allow, {user, "ann"}, pubsub, ["own/%c/#"]}.
        {deny, all, subscribe, [{eq, "#"}]}.
        {allow, {client, "c0"}, publish, ["c0"]}.
        {allow, all, subscribe, ["open/#"]}.`,
    });
    // So many that the kernel gives some to each worker.
    for (let i = 0; i < 6; i++) {
      const client = await node.connect(`c${i}`, { username: i % 2 === 0 ? 'ann' : 'ben' });
      const isAnn = i % 2 === 0;
      const none = 0x10;
      assert.equal(await subscribeCode(client, `own/c${i}/#`), isAnn ? 1 : notAuthorized);
      assert.equal(await subscribeCode(client, '#'), notAuthorized);
      assert.equal(await subscribeCode(client, 'open/+/x'), 1);
      assert.equal(await subscribeCode(client, '$share/g/open/y'), 1);
      assert.equal(await subscribeCode(client, '$share/g/shut/y'), notAuthorized);
      assert.equal(await publishCode(client, `own/c${i}/x`), isAnn ? 0 : notAuthorized);
      assert.equal(await publishCode(client, 'c0'), i === 0 ? none : notAuthorized);
      assert.equal(await publishCode(client, 'open/x'), notAuthorized, 'publish is not allowed');
    }
  });

  test(`CVE-2018-12550: an empty file allows nothing, acl_nomatch decides, ${workers} workers`, async () => {
    for (const [nomatch, codes] of [
      ['deny', [notAuthorized, notAuthorized]],
      ['allow', [1, 0]],
    ] as const) {
      await using node = await RuledNode.start({
        workers,
        rules: '%% nothing\n',
        settings: { acl_nomatch: nomatch },
      });
      const client = await node.connect('c');
      assert.deepEqual([await subscribeCode(client, 't'), await publishCode(client, 't')], codes);
      const { stdout } = await node.managed.ctl('acl', 'check', 'c', 'publish', 't');
      assert.equal(stdout, `${nomatch} by nomatch\n`);
      assert.equal(
        (await node.managed.ctl('acl', 'reload')).stdout.split(';')[0],
        'Reloaded 0 rules',
      );
    }
  });

  test(`CVE-2026-49186: a wildcard reaches no further than the rules, ${workers} workers`, async () => {
    await using node = await RuledNode.start({
      workers,
      rules: '{allow, all, subscribe, ["plant/+/state"]}.\n{allow, {user, "w"}, publish, ["#"]}.',
    });
    const reader = await node.connect('reader');
    const seen: string[] = [];
    reader.on('message', (topic) => seen.push(topic));
    for (const filter of ['#', '+/#', 'plant/#', 'plant/+/+', '+/+/state', 'plant/+/state/#']) {
      assert.equal(await subscribeCode(reader, filter), notAuthorized, filter);
      assert.equal(await subscribeCode(reader, `$share/g/${filter}`), notAuthorized, filter);
    }
    assert.equal(await subscribeCode(reader, 'plant/+/state'), 1);
    assert.equal(await subscribeCode(reader, 'plant/1/state'), 1);
    const writer = await node.connect('writer', { username: 'w' });
    for (const topic of ['secret', 'plant/1/secret', 'plant/1/state/more']) {
      assert.equal(await publishCode(writer, topic), 0x10, 'nobody gets it');
    }
    assert.equal(await publishCode(writer, 'plant/2/state'), 0);
    await once(reader, seen, 1);
    assert.deepEqual(seen, ['plant/2/state']);
  });

  test(`CVE-2017-7650: a name of wildcards is not expanded into a pattern, ${workers} workers`, async () => {
    await using node = await RuledNode.start({
      workers,
      rules: '{allow, all, pubsub, ["devices/%c/#", "users/%u/#"]}.',
    });
    for (const name of ['#', '+', '+/+', 'a/#', 'victim/..', 'x/y']) {
      await using client = await RawClient.open(node.managed.mqttPort);
      assert.equal((await client.connect({ clientId: name, username: name })).reasonCode, 0);
      for (const filter of [`devices/${name}/#`, `users/${name}/#`, 'devices/#', 'users/+/x']) {
        const [code = -1] = (await client.subscribe(filter)).reasonCodes;
        // 0x8F: no filter at all, as devices/#/# is none.
        assert.ok([notAuthorized, 0x8f].includes(code), `${name} to ${filter}: ${code}`);
      }
      const puback = await client.publish('devices/victim/x', 'x', { qos: 1 });
      assert.equal(puback?.reasonCode, notAuthorized);
    }
    const honest = await node.connect('victim', { username: 'victim' });
    assert.equal(await subscribeCode(honest, 'devices/victim/#'), 1);
    const nobody = await node.connect('nameless');
    assert.equal(await subscribeCode(nobody, 'users/%u/#'), notAuthorized, 'no literal %u either');
  });

  test(`rules that are read anew hold at once, past what is remembered, ${workers} workers`, async () => {
    await using node = await RuledNode.start({ workers, rules: '{allow, all}.' });
    const clients = await Promise.all([0, 1, 2, 3, 4, 5].map((i) => node.connect(`c${i}`)));
    for (const client of clients) assert.equal(await publishCode(client, 't'), 0x10);
    node.write('{allow, all, publish, "u"}.\n{deny, all}.');
    const { body } = await node.managed.put('/acl/reload');
    assert.equal(body.code, 0);
    assert.deepEqual((body.data as { rules: number }).rules, 2);
    for (const client of clients) {
      assert.equal(await publishCode(client, 't'), notAuthorized);
      assert.equal(await publishCode(client, 'u'), 0x10);
    }
  });

  test(`CVE-2017-7652: rules that cannot be read anew change nothing, ${workers} workers`, async () => {
    await using node = await RuledNode.start({
      workers,
      rules: '{allow, all, publish, "t"}.\n',
    });
    const { managed } = node;
    const clients = await Promise.all([0, 1, 2, 3, 4, 5].map((i) => node.connect(`c${i}`)));
    const hold = async (): Promise<void> => {
      await managed.delete('/acl_cache');
      for (const client of clients) {
        assert.equal(await publishCode(client, 't'), 0x10);
        assert.equal(await publishCode(client, 'other'), notAuthorized);
      }
    };
    await hold();
    node.write('{allow, all}.\n{allow, nobody}.\n\n  {deny, all, publish, "a/#/b"}.');
    const { body } = await managed.put('/acl/reload');
    assert.equal(body.code, 102);
    assert.equal(
      body.message,
      [
        'Cannot use the access rules: 2 problems',
        `  ${node.file}:2:9: found nobody, want all in a rule of two parts: {allow, nobody}.`,
        `  ${node.file}:4:24: found "a/#/b": wildcard "#" is allowed only as the whole last level: {deny, all, publish, "a/#/b"}.`,
        'The rules before it hold',
      ].join('\n'),
    );
    await hold();
    rmSync(node.file);
    const gone = await managed.ctl('acl', 'reload');
    assert.deepEqual(
      [gone.code, gone.stderr],
      [
        1,
        `Cannot read the access rules "${node.file}": it does not exist\nThe rules before it hold\n`,
      ],
    );
    await hold();
    const raised = managed.node.alarms.present().map(({ name }) => name);
    assert.deepEqual(raised, ['acl_reload_failed']);
    const failed = managed.logged.filter((line) => line.includes('"acl.reload.failed"'));
    assert.equal(failed.length, 2);
    node.write('{allow, all, publish, "t"}.');
    assert.equal((await managed.put('/acl/reload')).body.code, 0);
    assert.deepEqual(managed.node.alarms.present(), []);
    await hold();
  });

  test(`CVE-2018-12546: what was retained goes with its publisher's right, ${workers} workers`, async () => {
    await using node = await RuledNode.start({ workers, rules: '{allow, all}.' });
    const writer = await node.connect('writer', { username: 'w' });
    const other = await node.connect('other', { username: 'o' });
    await writer.publishAsync('t/w', 'x', { qos: 1, retain: true });
    await other.publishAsync('t/o', 'x', { qos: 1, retain: true });
    const topics = async (clientId: string): Promise<string[]> => {
      const reader = await node.connect(clientId);
      const seen: string[] = [];
      reader.on('message', (topic) => seen.push(topic));
      assert.equal(await subscribeCode(reader, 't/#'), 1);
      // What is published now comes behind what was retained.
      const last = `t/last-${clientId}`;
      await other.publishAsync(last, 'x', { qos: 1 });
      await until(() => seen.includes(last));
      return seen.filter((topic) => topic !== last).sort();
    };
    assert.deepEqual(await topics('before'), ['t/o', 't/w']);
    node.write('{deny, {user, "w"}, publish, "t/#"}.\n{allow, all}.');
    assert.equal((await node.managed.put('/acl/reload')).body.code, 0);
    assert.deepEqual(await topics('after'), ['t/o']);
  });

  test(`what is remembered of a client is shown and forgotten, ${workers} workers`, async () => {
    await using node = await RuledNode.start({ workers, rules: '{allow, all, pubsub, "t/#"}.' });
    const { managed } = node;
    const one = await node.connect('one');
    const two = await node.connect('two');
    for (const client of [one, two]) {
      await publishCode(client, 't/1');
      await publishCode(client, 'x');
      await subscribeCode(client, 't/+');
    }
    const rows = async (id: string): Promise<RightRow[]> =>
      (await managed.get(`/connections/${id}/acl_cache`)).body.data as RightRow[];
    const found = await rows('one');
    assert.deepEqual(
      found.map(({ access, topic, result }) => `${access} ${topic} ${result}`),
      ['publish t/1 allow', 'publish x deny', 'subscribe t/+ allow'],
    );
    for (const { age } of found) assert.ok(Number.isInteger(age) && age >= 0 && age < 60_000);
    assert.match(
      (await managed.ctl('acl', 'cache', 'one')).stdout,
      /^allow publish t\/1, \d+\.\d s ago\ndeny publish x, .*\nallow subscribe t\/\+, .*\n$/,
    );
    assert.deepEqual((await managed.delete('/connections/one/acl_cache')).body, { code: 0 });
    assert.deepEqual(await rows('one'), []);
    assert.equal((await rows('two')).length, 3, 'of nobody else');
    await publishCode(one, 't/1');
    assert.equal((await rows('one')).length, 1);
    assert.equal((await managed.ctl('acl', 'cache-clean')).stdout, 'ok\n');
    assert.deepEqual([await rows('one'), await rows('two')], [[], []]);
    await publishCode(one, 't/1');
    await publishCode(two, 't/1');
    assert.equal((await managed.ctl('acl', 'cache-clean', 'two')).stdout, 'ok\n');
    assert.deepEqual([(await rows('one')).length, (await rows('two')).length], [1, 0]);
    assert.deepEqual((await managed.delete('/acl_cache')).body, { code: 0 });
    assert.deepEqual(await rows('one'), []);
    for (const { body } of [
      await managed.get('/connections/nobody/acl_cache'),
      await managed.delete('/connections/nobody/acl_cache'),
    ]) {
      assert.deepEqual(body, { code: 112, message: 'not_found' });
    }
    for (const command of ['cache', 'cache-clean']) {
      const { stdout, code } = await managed.ctl('acl', command, 'nobody');
      assert.deepEqual([stdout, code], ['Not Found.\n', 1]);
    }
  });
}

test('mosquitto_sub is let read what the rules allow, and refused the rest', async () => {
  await using node = await RuledNode.start({
    rules: '{allow, {user, "m"}, subscribe, "open/#"}.\n{allow, {user, "w"}, publish, "#"}.',
  });
  const port = String(node.managed.mqttPort);
  const sub = ['-h', '127.0.0.1', '-p', port, '-u', 'm', '-q', '1'];
  for (const version of ['311', '5']) {
    const refused = await run('mosquitto_sub', [...sub, '-V', version, '-t', '#', '-W', '20']).then(
      ({ stdout, stderr }) => stdout + stderr,
      ({ stderr }: { readonly stderr: string }) => stderr,
    );
    assert.match(refused, /denied|not authori[sz]ed/i, version);
    const reading = run('mosquitto_sub', [
      ...sub,
      '-V',
      version,
      '-t',
      'open/1',
      '-C',
      '1',
      '-W',
      '20',
    ]);
    await until(() => node.managed.node.stats()['subscriptions/count'] === 1);
    const writer = await node.connect('writer', { username: 'w' });
    await writer.publishAsync('open/1', 'hello', { qos: 1 });
    assert.equal((await reading).stdout, 'hello\n', version);
    await writer.endAsync();
    await until(() => node.managed.node.stats()['subscriptions/count'] === 0);
  }
});

test('the shipped rules let this machine read $SYS, the dashboard, and nobody else', async () => {
  await using managed = await startManaged({
    settings: {
      allow_anonymous: 'true',
      acl_file: 'etc/acl.conf',
      'broker.sys_topics': 'all',
      'listener.tcp.external.proxy_protocol': 'on',
    },
  });
  const open = async (from: string, username?: string): Promise<RawClient> => {
    const client = await RawClient.open(managed.mqttPort);
    client.send(Buffer.from(`PROXY TCP4 ${from} 192.0.2.1 4711 1883\r\n`));
    const name = username === undefined ? {} : { username };
    assert.equal(
      (await client.connect({ clientId: `c-${from}-${username}`, ...name })).reasonCode,
      0,
    );
    return client;
  };
  const codes = async (client: RawClient): Promise<number[]> => {
    const found: number[] = [];
    for (const filter of ['$SYS/#', '#', 'a/#']) {
      found.push((await client.subscribe(filter)).reasonCodes[0] ?? -1);
    }
    await client[Symbol.asyncDispose]();
    return found;
  };
  assert.deepEqual(await codes(await open('127.0.0.1')), [0, 0, 0]);
  assert.deepEqual(await codes(await open('198.51.100.7')), [notAuthorized, notAuthorized, 0]);
  assert.deepEqual(await codes(await open('198.51.100.7', 'dashboard')), [0, notAuthorized, 0]);
});

async function once(
  client: { once(event: 'message', listener: () => void): unknown },
  seen: readonly string[],
  count: number,
): Promise<void> {
  while (seen.length < count) await new Promise<void>((resolve) => client.once('message', resolve));
}
