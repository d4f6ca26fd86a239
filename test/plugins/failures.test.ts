// Plugins that fail, in a whole node: at the start, in hooks, and in a worker that takes the place of another.
// Laws: the broker lives; whose fault it was is told and counted; a door whose guard fails stays shut.

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import type { Worker } from 'node:worker_threads';
import type { Managed, ManagedOptions } from '#test/managed';
import { RawClient } from '#test/raw-client';
import { UserPlugins } from '#test/user-plugins';
import { eventually } from '#test/watch';

const notAuthorized = 0x87;
const unavailable = 0x88;

function start(user: UserPlugins, loaded: string, options: ManagedOptions = {}): Promise<Managed> {
  return user.start({ ...options, settings: { 'plugins.loaded': loaded, ...options.settings } });
}

async function codeOf(managed: Managed, clientId = 'c'): Promise<number> {
  await using client = await RawClient.open(managed.mqttPort);
  return (await client.connect({ clientId })).reasonCode;
}

const failuresOf = (managed: Managed, plugin: string): number | undefined =>
  managed.whole.plugins.failures()[plugin];

for (const workers of [0, 2]) {
  for (const part of ['worker', 'control'] as const) {
    test(`a node does not start without an auth plugin whose ${part} part fails, with ${workers} workers`, async () => {
      using user = new UserPlugins();
      const throws = `throw new Error('no database');`;
      user.plugin('guard', { fields: `type: 'auth',`, [part]: throws });
      const expected =
        /^Error: Cannot start without plugin guard: no database; mend it, or take \{guard, true\}\. out of loaded_plugins/;
      await assert.rejects(start(user, 'guard', { workers }), expected);
    });

    test(`a node starts without a feature whose ${part} part fails, and says so, with ${workers} workers`, async () => {
      using user = new UserPlugins();
      const throws = `throw new Error('no database');`;
      user.plugin('extra', { [part]: throws });
      const expectedErrors = ['plugin.start_failed', 'plugin.failed'];
      await using managed = await start(user, 'extra', { workers, expectedErrors });
      assert.equal(await codeOf(managed), 0);
      const alarms = async (): Promise<string> => (await managed.ctl('alarms', 'list')).stdout;
      assert.match(await alarms(), /plugin_failed\/extra/);
      const { stdout } = await managed.ctl('plugins', 'list');
      assert.match(stdout, /^Plugin\(extra, .*active=false\)$/m);
      user.plugin('extra', { [part]: '' });
      assert.equal((await managed.put('/plugins/extra/load')).body.code, 0);
      assert.doesNotMatch(await alarms(), /plugin_failed/);
    });
  }

  test(`a plugin that throws in a hook is told, counted and survived, with ${workers} workers`, async () => {
    using user = new UserPlugins();
    const throws = `() => { throw new Error('broken'); }`;
    user.plugin('told', { worker: `ctx.hooks.on('client.connected', ${throws});` });
    user.plugin('folded', { worker: `ctx.hooks.on('message.publish', async ${throws});` });
    user.plugin('asked', { worker: `ctx.hooks.on('client.check_acl', ${throws});` });
    const expectedErrors = ['hook.failed'];
    const loaded = 'told,folded,asked';
    await using managed = await start(user, loaded, { workers, expectedErrors });
    await using client = await RawClient.open(managed.mqttPort);
    assert.equal((await client.connect({ clientId: 'c' })).reasonCode, 0);
    await eventually(() => failuresOf(managed, 'told') === 1);
    const denied = await client.publish('t', 'x', { qos: 1 });
    assert.equal(denied?.reasonCode, notAuthorized);
    assert.equal(failuresOf(managed, 'asked'), 1);
    await managed.put('/plugins/asked/unload');
    await client.subscribe(['t']);
    await client.publish('t', 'kept', { qos: 1 });
    assert.equal((await client.receive()).payload.toString(), 'kept');
    // System messages go through it, too.
    assert.ok((failuresOf(managed, 'folded') ?? 0) >= 1);
    for (const plugin of ['told', 'folded', 'asked']) {
      await eventually(() =>
        managed.logged.some((line) => line.includes('hook.failed') && line.includes(`"${plugin}"`)),
      );
    }
    const { text } = await managed.get('@/metrics');
    assert.match(text, /^broker_plugin_failures_total\{[^}]*plugin="told"[^}]*\} 1$/m);
  });

  test(`a mistake in the code of a plugin is told with its place, with ${workers} workers`, async () => {
    using user = new UserPlugins();
    const mistakes = {
      unwritten: ['\n const x = ;', /Expression expected \(\/\S+\/unwritten\/worker\.ts:2\)$/],
      unknown: ['\n nobody();', /nobody is not defined \(\/\S+\/unknown\/worker\.ts:2:2\)$/],
    } as const;
    for (const [name, [worker]] of Object.entries(mistakes)) user.plugin(name, { worker });
    const expectedErrors = ['plugin.failed'];
    await using managed = await start(user, 'broker_management', { workers, expectedErrors });
    for (const [name, [, expected]] of Object.entries(mistakes)) {
      assert.match((await managed.put(`/plugins/${name}/load`)).body.message ?? '', expected);
    }
  });

  test(`a plugin that does not answer in time has said no, with ${workers} workers`, async () => {
    using user = new UserPlugins();
    user.plugin('slow', {
      fields: `type: 'auth',`,
      worker: `ctx.hooks.on('client.authenticate', ({ clientId }) =>
        clientId === 'slow' ? new Promise(() => {}) : { allow: true });`,
    });
    const settings = { 'plugins.hook_deadline': '100ms' };
    const expectedErrors = ['hook.failed'];
    await using managed = await start(user, 'slow', { workers, settings, expectedErrors });
    assert.notEqual(await codeOf(managed, 'slow'), 0);
    assert.equal(await codeOf(managed, 'quick'), 0);
    assert.equal(failuresOf(managed, 'slow'), 1);
  });

  test(`a plugin that asks what nobody answers is told so, with ${workers} workers`, async () => {
    using user = new UserPlugins();
    user.plugin('curious', {
      worker: `ctx.hooks.on('client.authenticate', async () => await ctx.ask('nothing'));`,
      control: `ctx.answers({ something: () => 'ignore' });`,
    });
    await using managed = await start(user, 'curious', {
      workers,
      expectedErrors: ['hook.failed'],
    });
    assert.notEqual(await codeOf(managed), 0);
    const text = 'Cannot ask curious for \\"nothing\\": it answers something';
    await eventually(() => managed.logged.some((line) => line.includes(text)));
  });
}

for (const workers of [0, 2]) {
  test(`a control part hears which worker parts have no answer, with ${workers} workers`, async () => {
    using user = new UserPlugins();
    user.plugin('curious', {
      worker: `ctx.answers({ number: (n) => ctx.worker + n, bad: () => { throw new Error('broken'); } });`,
      control: `return (question) => ctx.askWorkers(question, 10);`,
      operations: `[defineOperation({ name: 'ask', descr: 'Ask', tag: 'Test', http: { method: 'GET', path: '/ask' },
        params: Type.Object({ question: Type.String() }), run: ({ question }) => service(question) })]`,
    });
    await using managed = await start(user, 'curious', { workers });
    const ask = async (question: string): Promise<unknown> =>
      (await managed.get(`/ask?question=${question}`)).body.data;
    const all = Array.from({ length: Math.max(1, workers) }, (_, i) => i);
    assert.deepEqual(await ask('number'), {
      answers: all.map((i) => [`worker ${i}`, 10 + i]),
      missing: [],
    });
    for (const [question, reason] of [
      ['bad', 'broken'],
      ['toString', 'Cannot ask curious for "toString": it answers number, bad'],
    ] as const) {
      const missing = all.map((i) => [`worker ${i}`, reason]);
      assert.deepEqual(await ask(question), { answers: [], missing });
    }
  });

  test(`worker parts are ended when the node is, with ${workers} workers`, async () => {
    using user = new UserPlugins();
    const ended = (worker: number): string => join(user.dir, `ended-${worker}`);
    user.plugin('closing', {
      worker: `const { writeFileSync } = await import('node:fs');
        ctx.defer(() => writeFileSync(${JSON.stringify(join(user.dir, 'ended-'))} + ctx.worker, ''));`,
    });
    await (await start(user, 'closing', { workers }))[Symbol.asyncDispose]();
    for (let i = 0; i < Math.max(1, workers); i++) assert.ok(existsSync(ended(i)), `${i}`);
  });
}

test('a plugin that is to run and is not there keeps the node from starting', async () => {
  using user = new UserPlugins();
  const expected =
    /^Error: Cannot start without plugin gone: there is no folder of this name; mend it/;
  await assert.rejects(start(user, 'gone'), expected);
});

/** The threads that the process starts from now on. */
function threadsOf(t: TestContext): Worker[] {
  const threads: Worker[] = [];
  const onWorker = (worker: Worker): void => void threads.push(worker);
  process.on('worker', onWorker);
  t.after(() => process.off('worker', onWorker));
  return threads;
}

async function killWorker(managed: Managed, threads: readonly Worker[]): Promise<void> {
  const victims = threads.filter(({ threadName }) => threadName?.includes('worker'));
  assert.equal(victims.length, 1, threads.map(({ threadName }) => threadName).join());
  await victims[0]?.terminate();
  await eventually(() => managed.logged.some((line) => line.includes('worker.restarted')));
}

test('the successor of a dead worker has all plugins before it lets anybody in', async (t) => {
  using user = new UserPlugins();
  user.plugin('guard', {
    fields: `type: 'auth',`,
    worker: `let word = 'none'; ctx.onShared((shared) => { word = shared; });
      ctx.hooks.on('client.authenticate', ({ clientId }) =>
        clientId === word ? { allow: true } : { allow: false, reasonCode: 0x87, text: 'no' });`,
    control: `await ctx.share('first'); setImmediate(() => ctx.share('friend'));`,
  });
  const threads = threadsOf(t);
  const expectedErrors = ['worker.died'];
  await using managed = await start(user, 'guard', { workers: 1, expectedErrors });
  await eventually(async () => (await codeOf(managed, 'friend')) === 0);
  await killWorker(managed, threads);
  assert.equal(await codeOf(managed, 'friend'), 0);
  assert.equal(await codeOf(managed, 'first'), notAuthorized);
});

test('a successor in which an auth plugin cannot start lets nobody in', async (t) => {
  using user = new UserPlugins();
  const marker = join(user.dir, 'broken');
  user.plugin('guard', {
    fields: `type: 'auth',`,
    worker: `const { existsSync } = await import('node:fs');
      if (existsSync(${JSON.stringify(marker)})) throw new Error('no database');
      ctx.hooks.on('client.check_acl', () => 'ignore');`,
  });
  const threads = threadsOf(t);
  const expectedErrors = ['worker.died', 'plugin.failed', 'hook.failed'];
  await using managed = await start(user, 'guard', { workers: 1, expectedErrors });
  assert.equal(await codeOf(managed), 0);
  user.write('broken', { 'mark.txt': '' });
  await killWorker(managed, threads);
  assert.equal(await codeOf(managed), unavailable);
  user.remove('broken');
  assert.equal((await managed.put('/plugins/guard/reload')).body.code, 0);
  assert.equal(await codeOf(managed), 0);
});

test('a load that fails in one of its parts leaves nothing of the plugin', async () => {
  using user = new UserPlugins();
  user.plugin('half', {
    worker: `ctx.hooks.on('client.connected', () => {}); throw new Error('no database');`,
    control: `ctx.every(1000, () => {}); return 1;`,
    operations: `[defineOperation({ name: 'half', descr: 'Show', tag: 'Test', http: { method: 'GET', path: '/half' },
      params: noParams, run: () => 1 })]`,
  });
  user.plugin('taken', {
    operations: `[defineOperation({ name: 'taken', descr: 'Show', tag: 'Test', http: { method: 'GET', path: '/nodes' },
      params: noParams, run: () => 1 })]`,
  });
  user.plugin('misspelt', { worker: `ctx.hooks.on('client.conected', () => {});` });
  await using managed = await start(user, 'broker_recon', { expectedErrors: ['plugin.failed'] });
  const load = async (name: string): Promise<string | undefined> =>
    (await managed.put(`/plugins/${name}/load`)).body.message;
  assert.equal(await load('half'), 'Cannot start half: no database');
  assert.equal((await managed.get('/half')).status, 404);
  assert.match(
    (await load('taken')) ?? '',
    /Cannot add "GET \/api\/v3\/nodes" of taken: it exists/,
  );
  assert.match(
    (await load('misspelt')) ?? '',
    /Cannot hook "client.conected" for "misspelt": expected/,
  );
  user.write('misspelt', { 'worker.ts': 'export const part = () => {};' });
  assert.match(
    (await load('misspelt')) ?? '',
    /Cannot run its worker part: expected "export default"/,
  );
  const { answers } = await managed.node.workers.everywhere('heldByPlugins', []);
  const owners = answers.flatMap(([, held]) => Object.keys(held));
  for (const name of ['half', 'taken', 'misspelt']) assert.ok(!owners.includes(name), name);
  assert.deepEqual(Object.keys(managed.whole.plugins.held()), ['broker_recon']);
});
