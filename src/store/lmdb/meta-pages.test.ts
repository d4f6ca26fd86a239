import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import test from 'node:test';
import { StoreDamaged } from '../store-damaged.ts';
import { inspectDataFile } from './meta-pages.ts';
import { TemporaryStore } from './store-fixture.ts';

test('inspectDataFile takes an absent and an empty file for a new store', async () => {
  await using store = new TemporaryStore();
  assert.equal(inspectDataFile(store.dir), 'new');
  mkdirSync(store.dir);
  assert.equal(inspectDataFile(store.dir), 'new');
  writeFileSync(store.dataFile, '');
  assert.equal(inspectDataFile(store.dir), 'new');
});

/** A store that was opened and closed, so that both meta pages have been written. */
async function made(store: TemporaryStore): Promise<Buffer> {
  const engine = await store.open();
  await engine.close();
  assert.equal(inspectDataFile(store.dir), 'whole');
  return readFileSync(store.dataFile);
}

/** Where the meta page of the last transaction begins. */
function newest(bytes: Buffer): number {
  const second = bytes.readUInt32LE(48);
  return bytes.readBigUInt64LE(152) > bytes.readBigUInt64LE(second + 152) ? 0 : second;
}

/** What is done to the file, and what is said of it. */
const spoilt: readonly [string, (bytes: Buffer, pageBytes: number) => unknown, RegExp][] = [
  ['random bytes', (bytes) => bytes.fill('garbage'), /no meta page begins at byte 0/],
  ['zeros', (bytes) => bytes.fill(0), /no meta page begins at byte 0/],
  [
    'a second meta page of zeros',
    (bytes, pageBytes) => bytes.fill(0, pageBytes, 2 * pageBytes),
    /no meta page begins at byte (4096|16384|65536)/,
  ],
  ['no flag', (bytes) => bytes.writeUInt16LE(0, 18), /no meta page begins at byte 0/],
  ['another format', (bytes) => bytes.writeUInt32LE(1, 28), /its format is 1, expected 2/],
  ['odd pages', (bytes) => bytes.writeUInt32LE(4095, 48), /its pages are of 4095 bytes/],
  ['huge pages', (bytes) => bytes.writeUInt32LE(2 ** 20, 48), /its pages are of 1048576 bytes/],
  [
    'two sizes of pages',
    (bytes, pageBytes) => bytes.writeUInt32LE(pageBytes / 2, pageBytes + 48),
    /its pages are of \d+ and of \d+ bytes/,
  ],
  [
    'a root behind the end',
    (bytes) => bytes.writeBigUInt64LE(10n ** 9n, newest(bytes) + 136),
    /a tree begins at page 1000000000, expected 2 to/,
  ],
  [
    'a root in the meta pages',
    (bytes) => bytes.writeBigUInt64LE(1n, newest(bytes) + 88),
    /begins at page 1,/,
  ],
  [
    'distant transactions',
    (bytes) => bytes.writeBigUInt64LE(77n, 152),
    /its transactions are 77 and \d+, expected neighbours/,
  ],
];

for (const [what, spoil, expected] of spoilt) {
  test(`inspectDataFile finds damage: ${what}`, async () => {
    await using store = new TemporaryStore();
    const bytes = await made(store);
    spoil(bytes, bytes.readUInt32LE(48));
    writeFileSync(store.dataFile, bytes);
    assert.throws(
      () => inspectDataFile(store.dir),
      (error) => {
        assert.ok(error instanceof StoreDamaged);
        assert.match(error.message, expected);
        assert.ok(error.message.includes(store.dataFile));
        return true;
      },
    );
  });
}

test('inspectDataFile does not mind what a failed commit left in the older meta page', async () => {
  await using store = new TemporaryStore();
  const bytes = await made(store);
  const older = newest(bytes) === 0 ? bytes.readUInt32LE(48) : 0;
  bytes.writeBigUInt64LE(10n ** 9n, older + 136);
  writeFileSync(store.dataFile, bytes);
  assert.equal(inspectDataFile(store.dir), 'whole');
});

test('inspectDataFile tells a file that ends in a meta page from one that ends later', async () => {
  await using store = new TemporaryStore();
  const bytes = await made(store);
  const pageBytes = bytes.readUInt32LE(48);
  truncateSync(store.dataFile, bytes.length - 1);
  assert.equal(inspectDataFile(store.dir), 'short');
  truncateSync(store.dataFile, 2 * pageBytes);
  assert.equal(inspectDataFile(store.dir), 'short');
  truncateSync(store.dataFile, pageBytes + 50);
  assert.throws(() => inspectDataFile(store.dir), {
    message: `"${store.dataFile}" is not in order: it ends after ${pageBytes + 50} bytes, in a meta page`,
  });
  truncateSync(store.dataFile, 10);
  assert.throws(() => inspectDataFile(store.dir), /it ends after 10 bytes, in a meta page/);
});
