// Bodies of somebody who means harm. Law: whatever JSON can say and bytes can be, the answer is an
// envelope in short time, nothing but the fields of the operation has an effect, and the node has no
// fault to log.

import assert from 'node:assert/strict';
import test from 'node:test';
import { startManaged } from '#test/managed';

const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
const nestedObjects = (depth: number): string => '{"a":'.repeat(depth) + '1' + '}'.repeat(depth);

test('JSON that is nested too deep is refused, wherever it stands', async () => {
  await using managed = await startManaged();
  for (const [path, raw] of [
    ['/mqtt/publish', nested(200_000)],
    ['/mqtt/publish', `{"topic":${nested(200_000)}}`],
    ['/mqtt/publish', `{"topics":${nested(200_000)}}`],
    ['/mqtt/publish', `{"topic":"t","x":${nestedObjects(90_000)}}`],
    ['/mqtt/publish_batch', `[{"topic":"t","topics":${nested(1000)}}]`],
    ['/banned', `{"who":"x","as":"client_id","x":${nested(101)}}`],
  ] as const) {
    const { status, body } = await managed.post(path, undefined, { raw });
    assert.deepEqual([status, body.code], [400, 109], raw.slice(0, 30));
    assert.match(body.message ?? '', /nested/);
  }
  // Brackets in a text are no nesting.
  const raw = JSON.stringify({ topic: 't', payload: `\\"${'[{'.repeat(1000)}` });
  assert.equal((await managed.post('/mqtt/publish', undefined, { raw })).body.code, 0);
  const fine = `{"who":"x","as":"client_id","x":${nested(90)}}`;
  assert.equal((await managed.post('/banned', undefined, { raw: fine })).body.code, 0);
});

test('bytes that are no UTF-8 are refused, and not replaced by something else', async () => {
  await using managed = await startManaged();
  for (const bytes of [[0xff], [0xc3, 0x28], [0xed, 0xa0, 0x80], [0xc0, 0xaf]]) {
    const raw = Buffer.from([...Buffer.from('{"topic":"'), ...bytes, ...Buffer.from('"}')]);
    const { status, body } = await managed.post('/mqtt/publish', undefined, { raw });
    assert.deepEqual([status, body.code], [400, 109]);
    assert.match(body.message ?? '', /UTF-8/);
  }
});

test('names that JavaScript gives a meaning have none here', async () => {
  await using managed = await startManaged();
  const raw = '{"__proto__":{"topic":"a"},"constructor":{"prototype":{"retain":true}}}';
  const { body } = await managed.post('/mqtt/publish', undefined, { raw });
  assert.deepEqual(body, { code: 115, message: 'bad_topic' });
  const who = '{"who":"__proto__","as":"client_id","__proto__":{"reason":"r"}}';
  assert.equal((await managed.post('/banned', undefined, { raw: who })).body.code, 0);
  const [ban] = (await managed.get('/banned')).body.data as { who: string; reason: string }[];
  assert.deepEqual([ban?.who, ban?.reason], ['__proto__', 'undefined']);
  const query = '__proto__=x&constructor=y&hasOwnProperty=z&_limit=1&_limit=2';
  const { meta } = (await managed.get(`/connections?${query}`)).body;
  assert.equal(meta?.limit, 1);
  assert.equal((await managed.get('/nodes', { auth: '__proto__:x' })).status, 401);
  assert.equal(({} as { retain?: unknown }).retain, undefined);
});

test('very many wrong values are answered by the first of them', async () => {
  await using managed = await startManaged();
  const many = Array.from({ length: 30_000 }, () => ({ topic: 1, qos: 'x', retain: 4 }));
  const batch = await managed.post('/mqtt/publish_batch', many);
  assert.equal(batch.body.code, 108);
  assert.ok(batch.text.length < 500);
  const commas = await managed.post('/mqtt/publish', { topics: ','.repeat(900_000) });
  assert.equal(commas.body.code, 108);
});

for (const workers of [0, 2]) {
  test(`nobody publishes for the broker under $SYS, with ${workers} workers`, async () => {
    await using managed = await startManaged({ workers });
    const bad = { code: 115, message: 'bad_topic' };
    for (const topic of [
      '$SYS',
      '$SYS/',
      '$SYS/brokers',
      '$SYS/brokers/broker@127.0.0.1/version',
    ]) {
      const { body } = await managed.post('/mqtt/publish', { topic, retain: true, payload: 'v9' });
      assert.deepEqual(body, bad, topic);
    }
    const { body } = await managed.post('/mqtt/publish_batch', [
      { topic: '$SYS/x' },
      { topic: '$SYSTEM/x' },
      { topic: 'a/$SYS' },
    ]);
    assert.deepEqual(body.data, [
      { topic: '$SYS/x', code: 115 },
      { topic: '$SYSTEM/x', code: 0 },
      { topic: 'a/$SYS', code: 0 },
    ]);
  });
}

test('a message is not said to be of a client that could not be', async () => {
  await using managed = await startManaged();
  for (const client_id of ['x'.repeat(65_536), 'é'.repeat(40_000), '\ud800', 'a\0b']) {
    const entry = { topic: 't', retain: true, qos: 1, payload: '1', client_id };
    const { body } = await managed.post('/mqtt/publish', entry);
    assert.equal(body.code, 108);
    assert.ok((body.message ?? '').length < 300);
    const batch = await managed.post('/mqtt/publish_batch', [entry]);
    assert.equal((batch.body.data as { code: number }[])[0]?.code, 108);
  }
});
