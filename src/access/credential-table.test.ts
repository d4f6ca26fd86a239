import assert from 'node:assert/strict';
import test from 'node:test';
import { VirtualClock } from '#base/clock';
import { DurableStore } from '#store/durable-store';
import { SlowEngine } from '#test/slow-engine';
import { credentialNameFault } from './credential-entry.ts';
import {
  CredentialRefused,
  CredentialTable,
  type CredentialTableOptions,
} from './credential-table.ts';
import { verifyStored } from './password-hash.ts';
import { readScram } from './stored-scram.ts';

const fast: CredentialTableOptions = { scheme: 'sha256' };

function store(engine = new SlowEngine()): DurableStore {
  return new DurableStore(engine, { clock: new VirtualClock() });
}

async function isPassword(
  table: CredentialTable,
  name: string,
  password: string,
): Promise<boolean | undefined> {
  const stored = table.find(name);
  return stored === undefined ? undefined : verifyStored(Buffer.from(password), stored);
}

async function namesOf(table: CredentialTable): Promise<string[]> {
  return Array.fromAsync(table.names());
}

test('an entry is found by its name, with its password and no other', async () => {
  const table = new CredentialTable(store(), fast);
  await table.add('ada', 'first');
  assert.equal(await isPassword(table, 'ada', 'first'), true);
  assert.equal(await isPassword(table, 'ada', 'second'), false);
  assert.equal(await isPassword(table, 'Ada', 'first'), undefined);
  await table.update('ada', 'second');
  assert.equal(await isPassword(table, 'ada', 'first'), false);
  assert.equal(await isPassword(table, 'ada', 'second'), true);
  await table.remove('ada');
  assert.equal(table.find('ada'), undefined);
});

for (const scheme of ['argon2id', 'sha512', 'sha256', 'sha', 'md5', 'plain'] as const) {
  test(`a password that is kept by ${scheme} is read whatever new ones are kept by`, async () => {
    const home = store();
    await new CredentialTable(home, { scheme }).add('ada', 'secret');
    const later = new CredentialTable(home, fast);
    assert.equal(await isPassword(later, 'ada', 'secret'), true);
    assert.equal(await isPassword(later, 'ada', 'Secret'), false);
    const isArgon = JSON.stringify(later.find('ada')).startsWith('"$argon2id$');
    assert.equal(isArgon, scheme === 'argon2id');
  });
}

test('what there is already is not added, and what is not there is not updated', async () => {
  const table = new CredentialTable(store(), fast);
  await table.add('ada', 'first');
  await assert.rejects(table.add('ada', 'second'), {
    name: 'CredentialRefused',
    message: 'existed',
  });
  await assert.rejects(table.update('bob', 'x'), {
    name: 'CredentialRefused',
    message: 'noexisted',
  });
  await table.remove('bob');
  assert.deepEqual([table.count, await namesOf(table)], [1, ['ada']]);
  assert.equal(await isPassword(table, 'ada', 'first'), true);
});

test('of two that add the same name at once, one is refused', async () => {
  const table = new CredentialTable(store(), { scheme: 'argon2id' });
  const added = await Promise.allSettled([table.add('ada', 'one'), table.add('ada', 'two')]);
  assert.deepEqual(added.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
  assert.equal(table.count, 1);
});

test('one that is deleted while its password is hashed stays deleted', async () => {
  const table = new CredentialTable(store(), { scheme: 'argon2id' });
  await table.add('ada', 'one');
  const updating = table.update('ada', 'two');
  await table.remove('ada');
  await assert.rejects(updating, { message: 'noexisted' });
  assert.deepEqual([table.count, table.has('ada')], [0, false]);
});

test('nothing is said to be done before it is on disk, and it is there after a crash', async () => {
  const engine = new SlowEngine();
  const table = new CredentialTable(store(engine), fast);
  await table.add('ada', 'first');
  engine.hold();
  let isDone = false;
  const adding = table.add('bob', 'second').then(() => {
    isDone = true;
  });
  await engine.next();
  assert.equal(isDone, false);
  engine.pass();
  await adding;
  const restarted = new CredentialTable(store(engine), fast);
  assert.deepEqual([restarted.count, await namesOf(restarted)], [2, ['ada', 'bob']]);
  assert.equal(await isPassword(restarted, 'bob', 'second'), true);
});

test('no more are added than may be', async () => {
  const table = new CredentialTable(store(), { ...fast, entriesMax: 2 });
  await table.add('a', 'x');
  await table.add('b', 'x');
  await assert.rejects(table.add('c', 'x'), {
    message: 'Cannot add "c": there are 2 already, the most that may be',
  });
  await table.remove('a');
  await table.add('c', 'x');
  assert.deepEqual(await namesOf(table), ['b', 'c']);
});

test('names are listed in order, page by page', async () => {
  const table = new CredentialTable(store(), fast);
  const wanted = Array.from({ length: 1205 }, (_, i) => `n${String(i).padStart(4, '0')}`);
  await table.addNew(wanted.toReversed().map((name) => [name, 'x']));
  assert.deepEqual(await namesOf(table), wanted);
  assert.deepEqual(await table.page(0, 2), wanted.slice(0, 2));
  assert.deepEqual(await table.page(1200, 10), wanted.slice(1200));
  assert.deepEqual(await table.page(2000, 10), []);
});

test('presets are added only where their names are new', async () => {
  const table = new CredentialTable(store(), fast);
  await table.add('ada', 'changed');
  const presets = [
    ['ada', 'preset'],
    ['bob', 'preset'],
  ] as const;
  assert.equal(await table.addNew(presets), 1);
  assert.equal(await table.addNew(presets), 0);
  assert.equal(await isPassword(table, 'ada', 'changed'), true);
  assert.equal(await isPassword(table, 'bob', 'preset'), true);
  assert.equal(table.count, 2);
});

test('CVE-2018-12551: an entry that nobody can read is an entry, and fits no password', async () => {
  const home = store();
  const table = new CredentialTable(home, fast);
  const entries = home.records('entries');
  const broken: readonly unknown[] = [
    null,
    '',
    'ada',
    [],
    {},
    { password: '' },
    { password: null },
    { password: 7 },
    { password: '$argon2id$' },
    { password: 'secret' },
    { password: {} },
    { password: { scheme: 'plain', value: '' } },
    { password: { scheme: 'plain', value: '1234' } },
    { password: { scheme: 'none', value: '1234secret' } },
    { password: { scheme: 'sha256', value: 7 } },
  ];
  for (const entry of broken) {
    entries.put('ada', entry);
    const shown = JSON.stringify(entry);
    assert.equal(table.has('ada'), true, shown);
    assert.equal(table.findScram('ada'), undefined, shown);
    for (const password of ['', 'secret', 'ada']) {
      assert.equal(await isPassword(table, 'ada', password), false, shown);
    }
  }
});

test('a name that no client could have, or nobody could read, is refused', async () => {
  const table = new CredentialTable(store(), fast);
  for (const name of ['', 'a\0b', 'a\nb', '\u009f', '\ud800', 'x'.repeat(1025)]) {
    assert.notEqual(credentialNameFault(name), undefined, JSON.stringify(name));
    await assert.rejects(table.add(name, 'x'), CredentialRefused);
  }
  for (const name of ['a b', 'Zoë/1', '😀', 'x'.repeat(1024)]) await table.add(name, 'x');
  assert.equal(table.count, 4);
});

test('what SCRAM needs is kept of a password only where it is wanted', async () => {
  const home = store();
  await new CredentialTable(home, fast).add('older', 'secret');
  const table = new CredentialTable(home, { ...fast, hasScram: true });
  await table.add('ada', 'secret');
  assert.equal(table.findScram('older'), undefined);
  const kept = table.findScram('ada');
  assert.ok(kept);
  const { salt, iterations, storedKey, serverKey } = readScram(kept);
  assert.deepEqual(
    [salt.length, iterations, storedKey.length, serverKey.length],
    [16, 4096, 32, 32],
  );
  assert.equal(await isPassword(table, 'ada', 'secret'), true);
  await assert.rejects(table.add('bob', 'bell\u0007'), {
    name: 'CredentialRefused',
    message: 'Cannot use the password: SCRAM allows no such characters',
  });
  assert.equal(table.has('bob'), false);
});
