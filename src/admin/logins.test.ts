import assert from 'node:assert/strict';
import test from 'node:test';
import { VirtualClock } from '#base/clock';
import { FailedTries } from './failed-tries.ts';
import { Logins, TooManyTries } from './logins.ts';
import { hashPassword, verifyPassword } from './passwords.ts';

const here = '10.0.0.1';

async function withUsers(
  secrets: Readonly<Record<string, string>>,
): Promise<{ logins: Logins; hashes: Map<string, string> }> {
  const hashes = new Map<string, string>();
  for (const [name, secret] of Object.entries(secrets)) {
    hashes.set(name, await hashPassword(secret));
  }
  const tries = new FailedTries(new VirtualClock());
  return { hashes, logins: new Logins({ tries, hashOf: (name) => hashes.get(name) }) };
}

test('a name and its secret belong together, before and after they are known', async () => {
  const { logins } = await withUsers({ ann: 'a', bob: 'b' });
  for (let i = 0; i < 3; i++) {
    assert.equal(await logins.verify('ann', 'a', here), true);
    assert.equal(await logins.verify('ann', 'b', here), false);
    assert.equal(await logins.verify('nobody', 'a', here), false);
  }
});

test('a secret is compared with its hash once, however often and at how many places it is named', async () => {
  const hash = await hashPassword('a');
  const compared: string[] = [];
  const logins = new Logins({
    tries: new FailedTries(new VirtualClock()),
    hashOf: () => hash,
    compare: (secret, wanted) => {
      compared.push(secret);
      return verifyPassword(secret, wanted);
    },
  });
  const all = Array.from({ length: 20 }, () => logins.verify('ann', 'a', here));
  assert.deepEqual(new Set(await Promise.all(all)), new Set([true]));
  for (let i = 0; i < 20; i++) assert.equal(await logins.verify('ann', 'a', here), true);
  assert.deepEqual(compared, ['a']);
});

test('a wrong secret of somebody known is compared as that of nobody is', async () => {
  const compared: string[] = [];
  const logins = new Logins({
    tries: new FailedTries(new VirtualClock()),
    hashOf: (name) => (name === 'ann' ? 'a' : undefined),
    compare: async (secret, hash) => {
      compared.push(secret);
      return secret === hash;
    },
  });
  assert.equal(await logins.verify('ann', 'a', here), true);
  assert.equal(await logins.verify('ann', 'wrong', here), false);
  assert.equal(await logins.verify('nobody', 'wrong as well', here), false);
  assert.deepEqual(compared, ['a', 'wrong', 'wrong as well']);
});

test('guesses are compared one after another, however many come at once', async () => {
  let running = 0;
  let most = 0;
  const logins = new Logins({
    tries: new FailedTries(new VirtualClock()),
    hashOf: () => 'a',
    compare: async (secret, hash) => {
      most = Math.max(most, ++running);
      await new Promise(setImmediate);
      running--;
      if (secret === 'x7') throw new Error('out of memory');
      return secret === hash;
    },
  });
  const names = ['x1', 'x7', 'a', 'x2'];
  const guesses = names.map((secret, i) => logins.verify('ann', secret, `10.0.2.${i}`));
  const settled = await Promise.allSettled(guesses);
  assert.equal(most, 1);
  assert.deepEqual(
    settled.map((one) => (one.status === 'fulfilled' ? one.value : 'failed')),
    [false, 'failed', true, false],
  );
});

test('what is known ends with the hash', async () => {
  const { logins, hashes } = await withUsers({ ann: 'a' });
  assert.equal(await logins.verify('ann', 'a', here), true);
  hashes.set('ann', await hashPassword('b'));
  assert.equal(await logins.verify('ann', 'a', here), false);
  assert.equal(await logins.verify('ann', 'b', here), true);
  hashes.delete('ann');
  assert.equal(await logins.verify('ann', 'b', here), false);
});

test('wrong secrets count, of those who are known as well', async () => {
  const { logins } = await withUsers({ ann: 'a' });
  await logins.verify('ann', 'a', here);
  for (let i = 0; i < 10; i++) assert.equal(await logins.verify('ann', `x${i}`, here), false);
  await assert.rejects(logins.verify('ann', 'a', here), TooManyTries);
  assert.equal(await logins.verify('ann', 'a', '10.0.0.2'), true);
});

test('comparisons under way are bounded, whoever asks for them', async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const logins = new Logins({
    tries: new FailedTries(new VirtualClock()),
    hashOf: () => 'a',
    compare: async (secret, hash) => {
      await released;
      return secret === hash;
    },
  });
  const guesses = Array.from({ length: 200 }, (_, i) =>
    logins.verify('ann', `x${i}`, `10.0.1.${i}`),
  );
  const settled = Promise.allSettled(guesses);
  release();
  const refused = (await settled).filter(({ status }) => status === 'rejected');
  assert.equal(refused.length, 200 - 64);
  assert.equal(await logins.verify('ann', 'a', here), true);
});
