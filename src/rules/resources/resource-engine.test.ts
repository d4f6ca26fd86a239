import assert from 'node:assert/strict';
import test from 'node:test';
import { nullLogger } from '#base/log';
import type { RecordStore } from '#core/store-port';
import { RuleFault } from '../rule-fault.ts';
import type { ResourceOrder } from './job.ts';
import { ResourceEngine } from './resource-engine.ts';
import type { ResourceRecord } from './resource-record.ts';

/** An engine whose resources are as alive as a test says. */
class Bench {
  readonly kept = new Map<string, ResourceRecord>();
  readonly alarms: string[] = [];
  readonly forgotten: string[] = [];
  orders: readonly ResourceOrder[] = [];
  alive: (id: string) => boolean = () => true;
  user: string | undefined;
  isAway = false;
  counted = 0;
  readonly engine: ResourceEngine;

  constructor(kept: ReadonlyMap<string, ResourceRecord> = new Map()) {
    for (const [id, record] of kept) this.kept.set(id, record);
    this.engine = new ResourceEngine({
      records: {
        entries: () => this.kept.entries(),
        put: (id: string, record: ResourceRecord) => void this.kept.set(id, record),
        delete: (id: string) => this.kept.delete(id),
      } as unknown as RecordStore,
      flushed: () => Promise.resolve(),
      place: {
        uphold: (orders) => {
          this.orders = orders;
          return Promise.resolve();
        },
        alive: () =>
          this.isAway
            ? Promise.reject(new Error('the thread has died'))
            : Promise.resolve(this.orders.map(({ id }) => [id, this.alive(id)] as const)),
        test: () => Promise.resolve(this.alive('') ? undefined : 'it cannot be reached'),
        perform: () => Promise.resolve(),
        forget: (id) => Promise.resolve(void this.forgotten.push(id)),
      },
      options: { isLinkLocalDenied: true, bufferDir: '' },
      nodeName: 'n',
      log: nullLogger,
      alarms: {
        raise: (name) => void this.alarms.push(`raise ${name}`),
        clear: (name) => void this.alarms.push(`clear ${name}`),
      },
      userOf: () => this.user,
      counted: (resources) => void (this.counted = resources),
    });
  }
}

const spec = { type: 'web_hook', config: { url: 'http://127.0.0.1:1' } };

test('a resource that was alive and is not is an alarm, until it is; one that never was is none', async () => {
  const bench = new Bench();
  bench.alive = () => false;
  const { id, status } = await bench.engine.create(spec);
  assert.deepEqual(status, [{ node: 'n', is_alive: false }]);
  await bench.engine.look();
  assert.deepEqual(bench.alarms, []);
  bench.alive = () => true;
  await bench.engine.look();
  bench.alive = () => false;
  await bench.engine.look();
  await bench.engine.look();
  bench.alive = () => true;
  await bench.engine.look();
  bench.isAway = true;
  await bench.engine.look();
  const name = `resource_down/${id}`;
  assert.deepEqual(bench.alarms, [
    `clear ${name}`,
    `raise ${name}`,
    `clear ${name}`,
    `raise ${name}`,
  ]);
  bench.engine.end();
  assert.equal(bench.alarms.at(-1), `clear ${name}`);
});

test('resources are read again in their order, with secrets as they were, and started', async () => {
  const bench = new Bench();
  const headers = { authorization: 'Bearer s3cret' };
  const first = await bench.engine.create({ ...spec, config: { ...spec.config, headers } });
  const second = await bench.engine.create({ type: 'built_in', name: 'b' });
  assert.deepEqual([...bench.kept.keys()], [first.id, second.id]);
  const again = new Bench(new Map([...bench.kept].reverse()));
  assert.equal(again.orders.length, 0);
  await again.engine.begin();
  assert.deepEqual(
    again.orders.map(({ id }) => id),
    [first.id, second.id],
  );
  assert.deepEqual(again.orders[0]?.config['headers'], headers);
  assert.deepEqual(
    again.engine.list().map(({ id }) => id),
    [first.id, second.id],
  );
  assert.deepEqual(again.engine.get(first.id)?.config['headers'], { authorization: '******' });
  const nobody = new Bench();
  nobody.orders = [{ id: 'untouched', type: '', config: {}, revision: 0 }];
  await nobody.engine.begin();
  assert.equal(nobody.orders.length, 1);
});

test('the older form replaces what has its name; a change keeps id, place and secrets', async () => {
  const bench = new Bench();
  const one = await bench.engine.create({ ...spec, name: 'a', description: 'x' });
  await bench.engine.create({ type: 'built_in' });
  const headers = { 'x-token': 't' };
  const next = await bench.engine.create({
    ...spec,
    name: 'a',
    config: { ...spec.config, headers },
  });
  assert.deepEqual([one.id, next.id], ['web_hook:a', 'web_hook:a']);
  assert.equal(bench.engine.list()[0]?.id, 'web_hook:a');
  const marked = { ...spec.config, headers: { 'x-token': '******', other: '1' } };
  await bench.engine.update('web_hook:a', { config: marked });
  const kept = bench.kept.get('web_hook:a')?.config['headers'];
  assert.deepEqual(kept, { 'x-token': 't', other: '1' });
  const { description } = await bench.engine.update('web_hook:a', { description: 'y' });
  assert.equal(description, 'y');
  assert.deepEqual(bench.kept.get('web_hook:a')?.config['headers'], kept);
});

test('a resource that is in use stays; one that goes takes with it what waits for it', async () => {
  const bench = new Bench();
  const { id } = await bench.engine.create(spec);
  assert.equal(bench.counted, 1);
  bench.user = 'rule:1';
  const inUse = (error: unknown): boolean => error instanceof RuleFault && error.kind === 'in_use';
  await assert.rejects(bench.engine.delete(id), inUse);
  bench.user = undefined;
  assert.equal(await bench.engine.delete(id), true);
  assert.equal(await bench.engine.delete(id), false);
  assert.deepEqual([bench.orders, bench.forgotten, bench.kept.size], [[], [id], 0]);
  assert.equal(bench.counted, 0);
});

test('a start makes another one of it, and says where it does not come alive', async () => {
  const bench = new Bench();
  const { id } = await bench.engine.create(spec);
  const [before] = bench.orders;
  await bench.engine.start(id);
  assert.notEqual(bench.orders[0]?.revision, before?.revision);
  bench.alive = () => false;
  await assert.rejects(bench.engine.start(id), { message: `Start Resource ${id} Failed` });
  await assert.rejects(bench.engine.test(spec), /^RuleFault: Test Creating Resource Failed: /);
  await assert.rejects(bench.engine.start('no'), { kind: 'not_found' });
});

test('a start that fails of one that was alive is an alarm, too', async () => {
  const bench = new Bench();
  const { id } = await bench.engine.create(spec);
  bench.alive = () => false;
  await assert.rejects(bench.engine.start(id), { kind: 'start_failed' });
  assert.deepEqual(bench.alarms.at(-1), `raise resource_down/${id}`);
});

test('a change that leaves the configuration as it is starts nothing anew', async () => {
  const bench = new Bench();
  const named = { ...spec, name: 'n' };
  const { id } = await bench.engine.create(named);
  const revision = (): unknown => bench.orders[0]?.revision;
  const before = revision();
  await bench.engine.update(id, { description: 'other words' });
  await bench.engine.create(named);
  assert.equal(revision(), before);
  assert.equal(bench.engine.get(id)?.status[0]?.is_alive, true);
  await bench.engine.update(id, { config: { url: 'http://127.0.0.1:2' } });
  assert.notEqual(revision(), before);
});

test('of a kind that nobody knows here any more everything is a secret', () => {
  const config = { url: 'http://u', password: 'secret' };
  const record = { id: 'r', order: 1, type: 'of later', config, description: '' };
  const { engine } = new Bench(new Map([['r', record]]));
  assert.deepEqual(engine.get('r')?.config, { url: '******', password: '******' });
});

test('a secret is kept for the server that it was given for, and sent to no other', async () => {
  const bench = new Bench();
  const config = { url: 'http://one:80/a', headers: { authorization: 's3cret' } };
  const { id } = await bench.engine.create({ type: 'web_hook', config });
  const headers = { authorization: '******' };
  await bench.engine.update(id, { config: { url: 'http://one/b?c', headers } });
  assert.deepEqual(bench.orders[0]?.config['headers'], { authorization: 's3cret' });
  for (const url of ['http://two/a', 'https://one/a', 'http://one:81/a', 'http://one.two/a']) {
    const changed = bench.engine.update(id, { config: { url, headers } });
    await assert.rejects(changed, /"headers.authorization" is \*{6}, the secret of another server/);
  }
  await bench.engine.update(id, { config: { url: 'http://two', headers: { authorization: 'x' } } });
  assert.deepEqual(bench.orders[0]?.config['headers'], { authorization: 'x' });
});
