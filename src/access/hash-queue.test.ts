import assert from 'node:assert/strict';
import test from 'node:test';
import { HashesBusy, HashQueue } from './hash-queue.ts';
import { parseHashScheme } from './hash-scheme.ts';
import { makeSalted } from './password-hash.ts';

const secret = Buffer.from('secret');

/** A computation that ends when it is told to. */
function held(): { readonly compute: () => Promise<string>; end: (text: string) => void } {
  const { promise, resolve } = Promise.withResolvers<string>();
  return { compute: () => promise, end: resolve };
}

test('a queue computes so many at once, and the others in the order they came', async () => {
  const queue = new HashQueue({ atOnceMax: 2 });
  const began: number[] = [];
  let most = 0;
  const all = Array.from({ length: 20 }, (_, no) =>
    queue.run(async () => {
      began.push(no);
      most = Math.max(most, queue.running);
      await new Promise(setImmediate);
    }),
  );
  assert.equal(queue.waiting, 18);
  await Promise.all(all);
  assert.equal(most, 2);
  assert.deepEqual(
    began,
    Array.from({ length: 20 }, (_, no) => no),
  );
  assert.deepEqual([queue.running, queue.waiting], [0, 0]);
});

test('a queue refuses at once who would wait too long, and takes others again later', async () => {
  const queue = new HashQueue({ atOnceMax: 1, waitingMax: 2 });
  const first = held();
  const running = queue.run(first.compute);
  const waiting = [queue.make(secret), queue.run(() => Promise.resolve('third'))];
  await assert.rejects(queue.make(secret), HashesBusy);
  await assert.rejects(queue.verifyStored(secret, '$2b$05$'), /2 others wait, the most that may/);
  first.end('first');
  assert.equal(await running, 'first');
  assert.equal((await Promise.all(waiting))[1], 'third');
  assert.match(await queue.make(secret), /^\$argon2id\$/);
});

test('a queue goes on when a computation fails', async () => {
  const queue = new HashQueue({ atOnceMax: 1 });
  const failing = queue.run(() => Promise.reject(new Error('out of memory')));
  const next = queue.make(secret);
  await assert.rejects(failing, /out of memory/);
  assert.equal(await queue.verifyStored(secret, await next), true);
  assert.equal(queue.running, 0);
});

test('what costs next to nothing does not wait for what is slow', async () => {
  const queue = new HashQueue({ atOnceMax: 1, waitingMax: 0 });
  const slow = held();
  const running = queue.run(slow.compute);
  const [plain, pbkdf2] = ['plain', 'pbkdf2,sha256,1000,20'].map(parseHashScheme);
  assert.ok(plain && pbkdf2);
  assert.equal(await queue.verify(plain, secret, { hash: 'secret' }), true);
  assert.equal(await queue.verifyStored(secret, makeSalted('sha256', secret)), true);
  await assert.rejects(queue.verify(pbkdf2, secret, { hash: '00', salt: '' }), HashesBusy);
  slow.end('');
  await running;
});
