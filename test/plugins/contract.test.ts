// What every plugin that comes with the broker has to keep: it loads, everything that it declares is there,
// clients can be served, and when it is unloaded nothing of it is left, in no thread; and all of it again.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import test, { after } from 'node:test';
import mqtt from 'mqtt';
import { paper } from '#admin/paper-catalogue';
import { discoverPlugins, type FoundPlugin } from '#plugin/discover';
import { type Managed, startManaged } from '#test/managed';
import { UserPlugins } from '#test/user-plugins';

/** Whatever it is asked it has heard. */
const server = createServer((_request, response) => response.end('ignore')).listen(0, '127.0.0.1');
await once(server, 'listening');
after(() => server.close());
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

/** What a plugin cannot start without. */
const required: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  broker_auth_http: { 'auth.http.auth_req': `${url}/auth` },
  broker_auth_jwt: { 'auth.jwt.secret': 'a-secret-of-the-contract-test-0123456789' },
  broker_statsd: { 'statsd.push.gateway.server': url },
};

/** Parts of the broker that can be switched off like a plugin. */
const builtIn = ['broker_dashboard', 'broker_retainer'];

const shipped = await discoverPlugins();

test('every folder can be read, and none of the settings of this test is for nobody', () => {
  assert.deepEqual(
    shipped.filter(({ fault }) => fault !== undefined),
    [],
  );
  const names = shipped.map(({ name }) => name);
  assert.deepEqual(
    Object.keys(required).filter((name) => !names.includes(name)),
    [],
  );
});

for (const workers of [0, 2]) {
  test(`plugins leave nothing behind, with ${workers} workers`, async (t) => {
    await using managed = await startManaged({
      workers,
      expectedErrors: ['hook.failed'],
      settings: Object.assign(
        { 'plugins.loaded': 'broker_management,broker_retainer,broker_dashboard' },
        { 'dashboard.listener.http': '127.0.0.1:0', allow_anonymous: 'true', acl_nomatch: 'allow' },
        ...Object.values(required),
      ) as Record<string, string>,
    });
    for (const found of shipped) {
      await t.test(found.name, { timeout: 60_000 }, () => keepsTheContract(managed, found));
    }
    for (const name of builtIn) {
      await t.test(name, async () => {
        const before = await traces(managed, name);
        await managed.whole.plugins.unload(name);
        assert.deepEqual((await traces(managed, name)).operations, []);
        await use(managed);
        await managed.whole.plugins.load(name);
        assert.deepEqual(await traces(managed, name), before);
      });
    }
  });
}

test('the contract sees a plugin that leaves something behind', async () => {
  using user = new UserPlugins();
  user.plugin('leaky', {
    control: '(globalThis.leaks ??= []).push(setInterval(() => {}, 60_000));',
  });
  user.plugin('tidy', {
    control: 'const timer = setInterval(() => {}, 60_000); ctx.defer(() => clearInterval(timer));',
  });
  const found = await discoverPlugins(user.dir);
  const settings = { 'plugins.dir': user.dir, allow_anonymous: 'true' };
  await using managed = await startManaged({ settings });
  const [leaky, tidy] = ['leaky', 'tidy'].map((wanted) =>
    found.find(({ name }) => name === wanted),
  );
  assert.ok(leaky !== undefined && tidy !== undefined);
  await keepsTheContract(managed, tidy);
  await assert.rejects(keepsTheContract(managed, leaky, 200), /was .*, is .*Timeout/);
  // They would keep this process.
  for (const timer of (globalThis as { leaks?: NodeJS.Timeout[] }).leaks ?? [])
    clearInterval(timer);
});

async function keepsTheContract(
  managed: Managed,
  found: FoundPlugin,
  deadlineMs = 20_000,
): Promise<void> {
  const { name, definition } = found;
  const { plugins } = managed.whole;
  const handles = openHandles();
  const nothing = { operations: [], metrics: [], workers: [], belongings: undefined };
  assert.deepEqual(await traces(managed, name), nothing);
  const before = managed.parts.catalogue.all().length;
  for (let round = 0; round < 2; round++) {
    await plugins.load(name);
    const there = await traces(managed, name);
    const part = await definition?.operations?.();
    const declared = part?.default(paper<object>(name) as never) ?? [];
    assert.equal(managed.parts.catalogue.all().length, before + declared.length);
    assert.deepEqual(there.metrics, Object.keys(definition?.metrics ?? {}));
    assert.notEqual(there.belongings, undefined);
    if (definition?.worker !== undefined) {
      const { answers } = await managed.node.workers.everywhere('heldByPlugins', []);
      assert.equal(there.workers.length, answers.length, 'it runs in every worker');
    }
    await use(managed);
    await read(managed, name);
    assert.ok(plugins.isActive(name));
    await plugins.unload(name);
    assert.deepEqual(await traces(managed, name), nothing);
    assert.equal(managed.parts.catalogue.all().length, before);
  }
  const count = (kinds: readonly string[], wanted: string): number =>
    kinds.filter((kind) => kind === wanted).length;
  const isMore = (): boolean => {
    const now = openHandles();
    return now.some((kind) => count(now, kind) > count(handles, kind));
  };
  const endMs = performance.now() + deadlineMs;
  while (isMore()) {
    assert.ok(performance.now() < endMs, `was ${handles.join()}, is ${openHandles().join()}`);
    await new Promise(setImmediate);
  }
}

/** What there is of a plugin. */
async function traces(managed: Managed, name: string) {
  const { answers, missing } = await managed.node.workers.everywhere('heldByPlugins', []);
  assert.deepEqual(missing, []);
  const { plugins } = managed.whole;
  return {
    operations: managed.parts.catalogue.ofOwner(name).map((operation) => operation.name),
    metrics: plugins.metrics().flatMap((metric) => (metric.plugin === name ? [metric.name] : [])),
    workers: answers.flatMap(([, held]) => held[name] ?? []),
    belongings: plugins.held()[name],
  };
}

/** A client comes, subscribes, publishes and goes; whether it may is for the plugin. */
async function use(managed: Managed): Promise<void> {
  const options = { port: managed.mqttPort, reconnectPeriod: 0, protocolVersion: 5 } as const;
  // Whoever retains where nothing is retained is disconnected, and waits for his answer for ever.
  const retain = managed.whole.plugins.isActive('broker_retainer');
  try {
    const client = await mqtt.connectAsync({ ...options, username: 'u', password: 'p' });
    try {
      await client.subscribeAsync('contract/#', { qos: 1 });
      await client.publishAsync('contract/t', 'x', { qos: 1, retain });
      await client.publishAsync('contract/t', '', { qos: 1, retain });
    } finally {
      await client.endAsync();
    }
  } catch {
    // Refused: an auth plugin without users has to.
  }
}

/** Everything that can be read without knowing anything. */
async function read(managed: Managed, owner: string): Promise<void> {
  for (const { http } of managed.parts.catalogue.ofOwner(owner)) {
    // One that produces something else than JSON may be a stream without an end.
    if (http?.method !== 'GET' || http.path.includes(':') || http.produces !== undefined) continue;
    const { status, text } = await managed.get(http.path);
    assert.ok(status < 500, text);
  }
}

/** Of this thread, which in a node of one thread has all parts: sockets, servers, timers, watches. */
function openHandles(): string[] {
  return process.getActiveResourcesInfo().sort();
}
