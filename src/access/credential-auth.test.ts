import assert from 'node:assert/strict';
import test from 'node:test';
import type { AuthVerdict, Credentials } from '#hooks/table';
import { credentialAuth } from './credential-auth.ts';
import { HashQueue } from './hash-queue.ts';
import { makeHash, makeSalted, type StoredPassword } from './password-hash.ts';

const right = Buffer.from('right');
const hashed = await makeHash(right);

/** Counts what it does; `kept` may change while it is used. */
class Bench {
  readonly kept = new Map<string, StoredPassword>();
  readonly counted: string[] = [];
  readonly queue: CountingQueue;
  readonly #judge;

  constructor(queue: CountingQueue = new CountingQueue()) {
    this.queue = queue;
    this.#judge = credentialAuth({
      nameOf: ({ username }) => username,
      find: async (name) => this.kept.get(name),
      count: (result) => this.counted.push(result),
      queue,
    });
  }

  async verdict(
    username: string | undefined,
    password: Buffer | undefined,
  ): Promise<AuthVerdict | 'ignore'> {
    return this.#judge({ username, password } as Credentials);
  }

  /** 0: let in; undefined: somebody else's. */
  async code(username: string | undefined, password?: Buffer): Promise<number | undefined> {
    const verdict = await this.verdict(username, password);
    return verdict === 'ignore' ? undefined : verdict.allow ? 0 : verdict.reasonCode;
  }
}

class CountingQueue extends HashQueue {
  costly = 0;

  override run<T>(compute: () => Promise<T>): Promise<T> {
    this.costly += 1;
    return super.run(compute);
  }
}

test('who is not in the table is left to others, and who is needs the password', async () => {
  const bench = new Bench();
  bench.kept.set('ada', hashed);
  assert.equal(await bench.code('bob', right), undefined);
  assert.equal(await bench.code(undefined, right), undefined);
  assert.equal(await bench.code('', right), undefined);
  assert.equal(await bench.code('ada', right), 0);
  assert.equal(await bench.code('ada', Buffer.from('wrong')), 0x86);
  assert.equal(await bench.code('ada', Buffer.alloc(0)), 0x86);
  assert.equal(await bench.code('ada'), 0x86);
  assert.deepEqual(bench.counted, [
    ...['ignore', 'ignore', 'ignore'],
    ...['success', 'failure', 'failure', 'failure'],
  ]);
});

test('a refusal says the same for every reason, and no name', async () => {
  const bench = new Bench();
  bench.kept.set('ada', hashed);
  const verdicts = [
    await bench.verdict('ada', undefined),
    await bench.verdict('ada', Buffer.from('wrong')),
  ];
  assert.deepEqual(verdicts[0], verdicts[1]);
  assert.ok(!JSON.stringify(verdicts).includes('ada'));
});

test('a password that was right is not hashed again, until what is stored is another', async () => {
  const bench = new Bench();
  bench.kept.set('ada', hashed);
  assert.equal(await bench.code('ada', right), 0);
  assert.equal(await bench.code('ada', right), 0);
  assert.equal(bench.queue.costly, 1);
  assert.equal(await bench.code('ada', Buffer.from('wrong')), 0x86);
  assert.equal(await bench.code('ada', Buffer.from('wrong')), 0x86);
  assert.equal(bench.queue.costly, 3);
  bench.kept.set('ada', await makeHash(Buffer.from('another')));
  assert.equal(await bench.code('ada', right), 0x86);
  bench.kept.delete('ada');
  assert.equal(await bench.code('ada', right), undefined);
});

test('a full queue refuses with server busy, and lets cheap hashes and known passwords pass', async () => {
  const bench = new Bench(new CountingQueue({ atOnceMax: 1, waitingMax: 0 }));
  bench.kept.set('ada', hashed);
  bench.kept.set('cheap', makeSalted('sha256', right));
  assert.equal(await bench.code('ada', right), 0);
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const running = bench.queue.run(() => released);
  assert.equal(await bench.code('ada', Buffer.from('wrong')), 0x89);
  assert.equal(await bench.code('ada', right), 0);
  assert.equal(await bench.code('cheap', right), 0);
  assert.equal(await bench.code('cheap', Buffer.from('wrong')), 0x86);
  release();
  await running;
  assert.equal(await bench.code('ada', Buffer.from('wrong')), 0x86);
  assert.deepEqual(bench.counted, [
    ...['success', 'failure', 'success', 'success', 'failure', 'failure'],
  ]);
});

test('a table that cannot be asked refuses', async () => {
  const judge = credentialAuth({
    nameOf: () => 'ada',
    find: () => Promise.reject(new Error('Cannot ask')),
    count: () => undefined,
  });
  await assert.rejects(async () => judge({} as Credentials), { message: 'Cannot ask' });
});
