// Plugins at their worst, in a whole node: what fails later than anybody looks, never begins, never ends, or
// says what no thread can be told. Laws: the broker and its other plugins go on; no door opens by it.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import type { Worker } from 'node:worker_threads';
import { installRoot } from '#base/install-root';
import { ownOwners } from '#hooks/own-owners';
import { type Managed, type ManagedOptions, startManaged } from '#test/managed';
import { RawClient } from '#test/raw-client';
import { UserPlugins } from '#test/user-plugins';
import { BrokerProcess, onlyListeners, Place } from '../interop/broker-process.ts';

const deadlineMs = 30_000;
const unavailable = 0x88;

function start(user: UserPlugins, loaded: string, options: ManagedOptions = {}): Promise<Managed> {
  return startManaged({
    ...options,
    settings: {
      ...{ 'plugins.dir': user.dir, 'plugins.loaded': loaded },
      ...{ allow_anonymous: 'true', acl_nomatch: 'allow' },
      ...options.settings,
    },
  });
}

async function codeOf(port: number, clientId = 'c'): Promise<number> {
  await using client = await RawClient.open(port);
  return (await client.connect({ clientId })).reasonCode;
}

/** Looks again and again, up to a deadline: threads say nothing when they have counted. */
async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  const endMs = performance.now() + deadlineMs;
  while (!(await isSo())) {
    assert.ok(performance.now() < endMs, `it is not so after ${deadlineMs} ms`);
    await new Promise(setImmediate);
  }
}

/** The threads that the process starts from now on. */
function threadsOf(t: TestContext): Worker[] {
  const threads: Worker[] = [];
  const onWorker = (worker: Worker): void => void threads.push(worker);
  process.on('worker', onWorker);
  t.after(() => process.off('worker', onWorker));
  return threads;
}

async function killWorker(managed: Managed, threads: readonly Worker[]): Promise<void> {
  const victim = threads.find(({ threadName }) => threadName?.includes('worker'));
  await victim?.terminate();
  await until(() => managed.logged.some((line) => line.includes('worker.restarted')));
}

/** What nobody waits for: a promise that is let go, and a timer of the runtime. */
const stray = {
  rejection: `void Promise.reject(new Error('stray'));`,
  exception: `setTimeout(() => { throw new Error('stray'); }, 0);`,
  // Nothing of the plugin is left in its stack but the place where it was made.
  answer: `void ctx.ask('nothing');`,
};

for (const [kind, text] of Object.entries(stray)) {
  test(`a worker survives a stray ${kind} of a plugin, which is told and counted`, async () => {
    using user = new UserPlugins();
    user.plugin('stray', {
      worker: `ctx.hooks.on('client.connected', () => { ${text} });`,
      control: '',
    });
    await using managed = await start(user, 'stray', {
      workers: 1,
      expectedErrors: ['plugin.failed'],
    });
    await using witness = await RawClient.open(managed.mqttPort);
    await witness.connect({ clientId: 'witness' });
    await until(() => managed.whole.plugins.failures()['stray'] === 1);
    await witness.expectNothing();
    const isTold = (line: string): boolean =>
      line.includes('plugin.failed') && line.includes('"plugin":"stray"');
    await until(() => managed.logged.some(isTold));
  });
}

test('a broker in one thread survives what a plugin throws later than anybody looks', async () => {
  using user = new UserPlugins();
  user.plugin('stray', {
    worker: `ctx.hooks.on('client.connected', () => { ${stray.rejection} ${stray.exception} });`,
    control: `ctx.answers({}); ctx.after(1, () => { ${stray.rejection} ${stray.exception} });`,
  });
  using place = new Place();
  const sets = [
    `plugins.dir=${user.dir}`,
    'plugins.loaded=stray',
    'node.workers=0',
    'allow_anonymous=true',
  ];
  await using broker = await BrokerProcess.start([...onlyListeners('tcp'), ...sets], {
    ...{ place, expectedErrors: ['plugin.failed'] },
  });
  for (const clientId of ['a', 'b', 'c'])
    assert.equal(await codeOf(broker.port('tcp'), clientId), 0);
});

/** They wait for deadlines, side by side. */
const waiting: [name: string, body: () => Promise<void>][] = [];
const slow = (name: string, body: () => Promise<void>): void => void waiting.push([name, body]);

for (const workers of [0, 2]) {
  for (const part of ['control', 'worker']) {
    slow(
      `a ${part} part that never begins is given up, and others can be loaded, with ${workers} workers`,
      async () => {
        using user = new UserPlugins();
        user.plugin('stuck', { [part]: 'await new Promise(() => {});' });
        user.plugin('fine', { worker: '' });
        await using managed = await start(user, 'broker_recon', {
          workers,
          expectedErrors: ['plugin.failed'],
        });
        const [stuck, fine] = await Promise.all(
          ['stuck', 'fine'].map(async (name) => (await managed.put(`/plugins/${name}/load`)).body),
        );
        assert.match(stuck?.message ?? '', /Cannot start stuck: .*not started within 10000 ms/);
        assert.equal(fine?.code, 0);
        assert.equal(managed.whole.plugins.isActive('stuck'), false);
      },
    );
  }

  slow(
    `a feature that never begins does not keep the node from starting, with ${workers} workers`,
    async () => {
      using user = new UserPlugins();
      user.plugin('stuck', { worker: 'await new Promise(() => {});' });
      user.plugin('stuck_too', { worker: 'await new Promise(() => {});' });
      user.plugin('fine', { worker: '' });
      const expectedErrors = ['plugin.failed', 'plugin.start_failed'];
      await using managed = await start(user, 'stuck,stuck_too,fine', { workers, expectedErrors });
      assert.deepEqual(
        ['stuck', 'stuck_too', 'fine'].map((name) => managed.whole.plugins.isActive(name)),
        [false, false, true],
      );
      assert.equal(await codeOf(managed.mqttPort), 0);
    },
  );

  slow(`a plugin that never ends is unloaded all the same, with ${workers} workers`, async () => {
    using user = new UserPlugins();
    const body = 'ctx.defer(() => new Promise(() => {}));';
    user.plugin('sticky', { worker: body, control: body });
    await using managed = await start(user, 'sticky', {
      workers,
      expectedErrors: ['plugin.failed'],
    });
    assert.equal((await managed.put('/plugins/sticky/unload')).body.code, 0);
    assert.equal(managed.whole.plugins.isActive('sticky'), false);
    assert.equal((await managed.put('/plugins/sticky/load')).body.code, 0);
  });
}

test('nobody waits for ever for a plugin', { concurrency: true }, async (t) => {
  await Promise.all(waiting.map(([name, body]) => t.test(name, body)));
});

test('what no thread can be told is the failure of whoever shares it, and a successor comes up', async (t) => {
  using user = new UserPlugins();
  user.plugin('sharing', {
    fields: `metrics: { 'sharing.refused': 'Shares that were refused.' },`,
    control: `await ctx.share('good');
      ctx.after(1, () => ctx.share({ run: () => 1 }).catch(() => ctx.count('sharing.refused')));`,
    worker: '',
  });
  const threads = threadsOf(t);
  await using managed = await start(user, 'sharing', {
    workers: 1,
    expectedErrors: ['worker.died'],
  });
  const refused = (): number | undefined =>
    managed.whole.plugins.metrics().find(({ name }) => name === 'sharing.refused')?.value;
  await until(() => refused() === 1);
  await killWorker(managed, threads);
  assert.equal(await codeOf(managed.mqttPort), 0);
});

test('a successor without its auth plugin lets nobody in by enhanced authentication either', async (t) => {
  using user = new UserPlugins();
  user.plugin('guard', {
    fields: `type: 'auth',`,
    worker: `const { existsSync } = await import('node:fs');
      if (existsSync(${JSON.stringify(join(user.dir, 'broken'))})) throw new Error('no database');
      ctx.hooks.on('client.check_acl', () => 'deny');`,
  });
  user.plugin('other', {
    worker: `ctx.hooks.on('client.enhanced_auth', () => ({ allow: true }));`,
  });
  const threads = threadsOf(t);
  const expectedErrors = ['worker.died', 'plugin.failed', 'hook.failed'];
  await using managed = await start(user, 'guard,other', { workers: 1, expectedErrors });
  const enhanced = async (): Promise<number> => {
    await using client = await RawClient.open(managed.mqttPort);
    return (await client.connect({ clientId: 'c', properties: { authMethod: 'X' } })).reasonCode;
  };
  assert.equal(await enhanced(), 0);
  writeFileSync(join(user.dir, 'broken'), '');
  await killWorker(managed, threads);
  assert.equal(await enhanced(), unavailable);
  user.remove('broken');
  assert.equal((await managed.put('/plugins/guard/reload')).body.code, 0);
  assert.equal(await enhanced(), 0);
});

test('a plugin that is listed twice is started once', async () => {
  using user = new UserPlugins();
  user.plugin('twice', {
    fields: `metrics: { 'twice.ended': 'Ends.' },`,
    control: 'globalThis.twiceStarted = (globalThis.twiceStarted ?? 0) + 1;',
  });
  await using _managed = await start(user, 'twice,twice');
  assert.equal((globalThis as { twiceStarted?: number }).twiceStarted, 1);
});

test('a verdict with fields of another form opens no door', async () => {
  using user = new UserPlugins();
  user.plugin('sloppy', {
    fields: `type: 'auth',`,
    worker: `const wrong = { text: { expiresAtMs: '2020-01-01' }, nan: { expiresAtMs: NaN }, name: { username: 5 }, grant: { grant: 'x' } };
      ctx.hooks.on('client.authenticate', ({ clientId }) => ({ allow: true, ...wrong[clientId] }));`,
  });
  await using managed = await start(user, 'sloppy', { expectedErrors: ['hook.failed'] });
  for (const clientId of ['text', 'nan', 'name', 'grant']) {
    assert.equal(await codeOf(managed.mqttPort, clientId), unavailable, clientId);
  }
  assert.equal(await codeOf(managed.mqttPort, 'good'), 0);
});

test('a plugin with the name of the access rules does not take their place', async () => {
  using user = new UserPlugins();
  user.plugin('acl_internal', { worker: `ctx.hooks.on('client.connected', () => {});` });
  const file = join(user.dir, 'acl.conf');
  writeFileSync(file, '{deny, all, subscribe, ["secret"]}.\n');
  await using managed = await start(user, 'broker_recon', { settings: { acl_file: file } });
  const { body } = await managed.put('/plugins/acl_internal/load');
  assert.match(body.message ?? '', /the broker itself has hooks of this name/);
  await using client = await RawClient.open(managed.mqttPort);
  await client.connect({ clientId: 'c' });
  assert.deepEqual((await client.subscribe('secret')).reasonCodes, [0x87]);
});

test('every name under which the broker itself listens to hooks is kept from plugins', () => {
  const src = join(installRoot, 'src');
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.ts') && !name.endsWith('.test.ts'),
  );
  const found = files.flatMap((name) => {
    const text = readFileSync(join(src, name), 'utf8');
    if (!/hooks\b[^;]*?\.(?:on|replace)\(/.test(text)) return [];
    return [...text.matchAll(/const \w*[oO]wner(?:: string)? = '(\w+)'/g)].map(
      ([, one = '']) => one,
    );
  });
  assert.deepEqual(found.sort(), [...ownOwners]);
});

test('a folder with the name of a part of the broker is not looked at', async () => {
  using user = new UserPlugins();
  user.plugin('broker_retainer', { fields: `type: 'auth',` });
  await using managed = await start(user, 'broker_retainer');
  const named = (): number =>
    managed.whole.plugins.rows().filter(({ name }) => name === 'broker_retainer').length;
  assert.equal(named(), 1);
  await managed.put('/plugins/broker_retainer/reload');
  assert.equal(named(), 1);
});
