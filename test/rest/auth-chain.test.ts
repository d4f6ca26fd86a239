// The chain of those who decide about a client: small plugins of a user in a directory of their own, in a
// whole node. Law: whoever cannot decide, by a fault of his own, has not opened the door.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { type Managed, type ManagedOptions, startManaged } from '#test/managed';
import { type ConnectOptions, RawClient } from '#test/raw-client';

/** Names of plugins and what they do: the body of their worker part, with `ctx`. */
type Plugins = Readonly<Record<string, string>>;

class Extensions implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), 'broker-chain-'));

  constructor(plugins: Plugins) {
    for (const [name, body] of Object.entries(plugins)) this.write(name, body);
  }

  write(name: string, body: string): void {
    mkdirSync(join(this.path, name), { recursive: true });
    const lines = [
      "import { definePlugin } from '#sdk';",
      'export default definePlugin({',
      `  name: '${name}', description: 'Of a test', type: 'auth',`,
      `  worker: async () => ({ default: (ctx) => { ${body} } }),`,
      '});',
    ];
    writeFileSync(join(this.path, name, 'plugin.ts'), lines.join('\n'));
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

/** Refuses the users whose names hold its own, and says who it is; knows nobody else. */
const refusing = (name: string, priority = 0): string =>
  `ctx.hooks.on('client.authenticate', ({ username }) =>
     username?.includes('${name}') ? { allow: false, reasonCode: 0x87, text: '${name}' } : 'ignore',
   ${priority});`;

const authenticating = (answer: string): string =>
  `ctx.hooks.on('client.authenticate', (credentials) => { ${answer} });`;

const deciding = (answer: string): string =>
  `ctx.hooks.on('client.check_acl', (client, action, topic) => { ${answer} });`;

function start(
  extensions: Extensions,
  loaded: string,
  workers: number,
  settings: Readonly<Record<string, string>> = {},
  options: ManagedOptions = {},
): Promise<Managed> {
  return startManaged({
    ...options,
    workers,
    settings: { 'plugins.dir': extensions.path, 'plugins.loaded': loaded, ...settings },
  });
}

interface Outcome {
  readonly code: number;
  readonly text: string | undefined;
}

async function connect(
  port: number,
  options: ConnectOptions = {},
  version: 4 | 5 = 5,
): Promise<Outcome> {
  await using client = await RawClient.open(port, version);
  const { reasonCode, properties } = await client.connect(options);
  return { code: reasonCode, text: properties.reasonString };
}

for (const workers of [0, 2]) {
  const on = `${workers} workers`;

  test(`the chain runs by priority, then in the order of loading, ${on}`, async () => {
    using extensions = new Extensions({
      late: refusing('late'),
      early: refusing('early'),
      high: refusing('high', 10),
      low: refusing('low', -10),
    });
    await using managed = await start(extensions, 'low,late,early,high', workers);
    const whoDecides = async (username: string): Promise<string | undefined> =>
      (await connect(managed.mqttPort, { username })).text;
    const everybody = 'early late low high';
    assert.equal(await whoDecides(everybody), 'high');
    assert.equal(await whoDecides('early late low'), 'late');
    assert.equal(await whoDecides('early low'), 'early');
    assert.equal(await whoDecides('low'), 'low');
    await managed.ctl('plugins', 'unload', 'high');
    assert.equal(await whoDecides(everybody), 'late');
    await managed.ctl('plugins', 'unload', 'late');
    assert.equal(await whoDecides(everybody), 'early');
    await managed.ctl('plugins', 'load', 'late');
    assert.equal(await whoDecides(everybody), 'early');
    extensions.write('early', refusing('early', 0));
    await managed.ctl('plugins', 'reload', 'early');
    assert.equal(await whoDecides(everybody), 'early');
    await managed.ctl('plugins', 'load', 'high');
    assert.equal(await whoDecides(everybody), 'high');
  });

  test(`the first who does not ignore a client decides, and nobody is asked after him, ${on}`, async () => {
    using extensions = new Extensions({
      passing: authenticating(`return Promise.resolve('ignore');`),
      welcoming: authenticating(
        `return credentials.username === 'ada' ? { allow: true } : 'ignore';`,
      ),
      closing: authenticating(`return { allow: false, reasonCode: 0x86 };`),
    });
    await using managed = await start(extensions, 'passing,welcoming,closing', workers);
    assert.equal((await connect(managed.mqttPort, { username: 'ada' })).code, 0);
    assert.equal((await connect(managed.mqttPort, { username: 'bob' })).code, 0x86);
  });

  test(`whom everybody ignores comes in where the zone allows anonymous clients, ${on}`, async () => {
    using extensions = new Extensions({ passing: authenticating(`return 'ignore';`) });
    await using managed = await start(extensions, 'passing', workers, {
      allow_anonymous: 'true',
      'listener.tcp.external.zone': 'external',
      'zone.external.allow_anonymous': 'false',
      'listener.tcp.internal': '127.0.0.1:0',
      'listener.tcp.internal.zone': 'internal',
    });
    const [closed = 0, open = 0] = managed.node.ports;
    assert.equal((await connect(closed, { username: 'ada' })).code, 0x87);
    assert.equal((await connect(closed, { username: 'ada' }, 4)).code, 5);
    assert.equal((await connect(open, { username: 'ada' })).code, 0);
    assert.equal((await connect(open, {}, 4)).code, 0);
  });

  test(`a verdict reaches clients of each version in its words, ${on}`, async () => {
    using extensions = new Extensions({
      telling: authenticating(`return { allow: false, reasonCode: Number(credentials.username) };`),
    });
    await using managed = await start(extensions, 'telling', workers);
    const codes: readonly (readonly [number, number])[] = [
      [0x85, 2],
      [0x86, 4],
      [0x87, 5],
      [0x88, 3],
      [0x89, 3],
      [0x8a, 5],
      [0x8c, 5],
    ];
    for (const [v5, v3] of codes) {
      const username = String(v5);
      assert.equal((await connect(managed.mqttPort, { username })).code, v5);
      assert.equal((await connect(managed.mqttPort, { username }, 4)).code, v3);
    }
  });

  test(`a plugin that fails or says nothing keeps everybody out, ${on}`, async () => {
    using extensions = new Extensions({
      failing: authenticating(`
        const { username } = credentials;
        if (username === 'throws') throw new Error('of a test');
        if (username === 'rejects') return Promise.reject(new Error('of a test'));
        if (username === 'hangs') return new Promise(() => {});
        if (username === 'forgets') return undefined;
        if (username === 'forgets late') return Promise.resolve(undefined);
        if (username === 'mumbles') return true;
        if (username === 'stammers') return {};
        return 'ignore';`),
      welcoming: authenticating(`return { allow: true };`),
    });
    const settings = { allow_anonymous: 'true', 'plugins.hook_deadline': '200ms' };
    const options = { expectedErrors: ['hook.failed'] };
    await using managed = await start(extensions, 'failing,welcoming', workers, settings, options);
    const faulty = ['throws', 'rejects', 'hangs', 'forgets', 'forgets late', 'mumbles', 'stammers'];
    for (const username of faulty) {
      assert.equal((await connect(managed.mqttPort, { username })).code, 0x88, username);
      assert.equal((await connect(managed.mqttPort, { username }, 4)).code, 3, username);
    }
    assert.equal((await connect(managed.mqttPort, { username: 'ada' })).code, 0);
    const failed = managed.logged.filter((line) => line.includes('"hook.failed"'));
    assert.equal(failed.length, 2 * faulty.length);
    assert.ok(failed.every((line) => line.includes('"failing"')));
  });

  test(`a superuser may do what rights deny, ${on}`, async () => {
    using extensions = new Extensions({
      door: authenticating(`return { allow: true, isSuperuser: credentials.username === 'root' };`),
      rights: deciding(`return 'deny';`),
    });
    await using managed = await start(extensions, 'door,rights', workers);
    const suback = async (username: string): Promise<readonly number[]> => {
      await using client = await RawClient.open(managed.mqttPort);
      await client.connect({ username });
      return (await client.subscribe('t')).reasonCodes;
    };
    assert.deepEqual(await suback('root'), [0]);
    assert.deepEqual(await suback('ada'), [0x87]);
  });

  test(`a verdict puts a client under a mountpoint of its own, and under none that is no topic, ${on}`, async () => {
    using extensions = new Extensions({
      door: authenticating(`return { allow: true, mountpoint: credentials.username };`),
    });
    await using managed = await start(extensions, 'door', workers, {
      acl_nomatch: 'allow',
      'zone.external.mountpoint': 'zone/',
    });
    await using client = await RawClient.open(managed.mqttPort);
    await client.connect({ username: 'of/%c/', clientId: 'c1' });
    await client.subscribe('t');
    const { body } = await managed.get('/routes');
    assert.deepEqual(
      (body.data as { topic: string }[]).map(({ topic }) => topic),
      ['of/c1/t'],
    );
    assert.equal(
      (await connect(managed.mqttPort, { username: 'a/#/', clientId: 'c2' })).code,
      0x85,
    );
  });

  test(`rights that a plugin cannot tell are denied and asked for again, ${on}`, async () => {
    using extensions = new Extensions({
      door: authenticating(`return { allow: true };`),
      rights: `let calls = 0; ${deciding(`
        if (topic === 'decided') return calls++ === 0 ? 'deny' : 'allow';
        if (topic !== 'calm' && calls++ === 0) {
          if (topic === 'throws') throw new Error('of a test');
          if (topic === 'rejects') return Promise.reject(new Error('of a test'));
          return new Promise(() => {});
        }
        calls = 0;
        return 'allow';`)}`,
      generous: deciding(`return 'allow';`),
    });
    const settings = { 'plugins.hook_deadline': '200ms' };
    const options = { expectedErrors: ['hook.failed'] };
    await using managed = await start(
      extensions,
      'door,rights,generous',
      workers,
      settings,
      options,
    );
    await using client = await RawClient.open(managed.mqttPort);
    await client.connect();
    for (const topic of ['throws', 'rejects', 'hangs']) {
      assert.deepEqual((await client.subscribe(topic)).reasonCodes, [0x87], topic);
      assert.deepEqual((await client.subscribe(topic)).reasonCodes, [0], topic);
    }
    assert.deepEqual((await client.subscribe('decided')).reasonCodes, [0x87]);
    assert.deepEqual((await client.subscribe('decided')).reasonCodes, [0x87]);
  });

  test(`the broker does not start without a plugin that guards its door, ${on}`, async () => {
    using extensions = new Extensions({ broken: `throw new Error('of a test');` });
    await assert.rejects(
      start(extensions, 'broken', workers, { allow_anonymous: 'true' }),
      /Cannot start without plugin broken: of a test/,
    );
  });
}
