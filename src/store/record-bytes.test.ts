import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { RecordReader, RecordWriter } from './record-bytes.ts';
import { StoreDamaged } from './store-damaged.ts';

const given = process.env['FUZZ_SEED'];
const seed: number = given === undefined ? (Math.random() * 0x7fff_ffff) | 0 : Number(given);

type Field =
  | { readonly kind: 'u8' | 'u16' | 'u32' | 'u48'; readonly value: number }
  | { readonly kind: 'text'; readonly value: string | undefined }
  | { readonly kind: 'bytes'; readonly value: Buffer };

const numbers = (kind: 'u8' | 'u16' | 'u32' | 'u48', bits: number): fc.Arbitrary<Field> =>
  fc
    .oneof(fc.constantFrom(0, 1, 2 ** bits - 1), fc.integer({ min: 0, max: 2 ** bits - 1 }))
    .map((value) => ({ kind, value }));
const texts = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 20 }),
  fc.constantFrom('', 'ä€\u{1f600}', 'x'.repeat(2000)),
);
const fields: fc.Arbitrary<Field[]> = fc.array(
  fc.oneof(
    numbers('u8', 8),
    numbers('u16', 16),
    numbers('u32', 32),
    numbers('u48', 48),
    fc.option(texts, { nil: undefined }).map((value) => ({ kind: 'text', value }) as const),
    fc.uint8Array({ maxLength: 50 }).map((value) => ({
      kind: 'bytes' as const,
      value: Buffer.from(value),
    })),
  ),
  { maxLength: 20 },
);

const writer = new RecordWriter();

function write(all: readonly Field[]): Buffer {
  writer.start();
  for (const field of all) {
    if (field.kind === 'text') writer.text(field.value);
    else if (field.kind === 'bytes') writer.bytes(field.value);
    else writer[field.kind](field.value);
  }
  return writer.done();
}

function read(bytes: Buffer, kinds: readonly Field['kind'][]): Field[] {
  const reader = new RecordReader(bytes);
  const all = kinds.map((kind): Field => {
    if (kind === 'text') return { kind, value: reader.maybeText() };
    if (kind === 'bytes') return { kind, value: Buffer.from(reader.blob()) };
    return { kind, value: reader[kind]() };
  });
  assert.equal(reader.at, bytes.length);
  return all;
}

test('a record is read as it was written, by a writer that is used again and again', (t) => {
  t.diagnostic(`FUZZ_SEED=${seed}`);
  const law = fc.property(fields, fields, (first, second) => {
    const bytes = write(first);
    write(second);
    const kinds = first.map(({ kind }) => kind);
    assert.deepEqual(read(bytes, kinds), first, 'it is not changed by what is written later');
  });
  fc.assert(law, { seed });
});

test('a record that ends too soon is damaged, wherever it ends', (t) => {
  t.diagnostic(`FUZZ_SEED=${seed}`);
  const law = fc.property(fields, fc.nat(), (all, cut) => {
    const bytes = write(all);
    fc.pre(bytes.length > 0);
    const kinds = all.map(({ kind }) => kind);
    assert.throws(() => read(bytes.subarray(0, cut % bytes.length), kinds), StoreDamaged);
  });
  fc.assert(law, { seed });
});

test('an absent text is not an empty one, and is damage where there has to be one', () => {
  const absent = write([{ kind: 'text', value: undefined }]);
  const empty = write([{ kind: 'text', value: '' }]);
  assert.equal(new RecordReader(absent).maybeText(), undefined);
  assert.equal(new RecordReader(empty).maybeText(), '');
  assert.equal(new RecordReader(empty).text(), '');
  assert.throws(() => new RecordReader(absent).text(), StoreDamaged);
});

test('a length that lies is damage, not memory', () => {
  const bytes = Buffer.from([0xff, 0xff, 0xff, 0xfe, 1, 2, 3]);
  assert.throws(() => new RecordReader(bytes).maybeText(), StoreDamaged);
  assert.throws(() => new RecordReader(bytes).blob(), StoreDamaged);
});

test('a record can be read from its middle', () => {
  const bytes = write([
    { kind: 'u32', value: 1 },
    { kind: 'u48', value: 2 ** 40 + 1 },
  ]);
  assert.equal(new RecordReader(bytes, 4).u48(), 2 ** 40 + 1);
  assert.throws(() => new RecordReader(bytes, 5).u48(), StoreDamaged);
});
