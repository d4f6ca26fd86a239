import assert from 'node:assert/strict';
import test from 'node:test';
import { type Reading, readReply } from './reply.ts';

function read(
  status: number,
  body: string | Buffer = '',
  contentType = '',
  contentEncoding = '',
): Reading {
  return readReply({ status, body: Buffer.from(body as string), contentType, contentEncoding });
}

const plainly = { says: 'allow', isSuperuser: undefined, mountpoint: undefined };
const json = 'application/json';

test('a reply of 200 allows, whatever its text', () => {
  for (const body of ['', 'ok', 'allow', 'true', '<html>', ' ']) {
    assert.deepEqual(read(200, body), plainly, body);
  }
  for (const body of ['', '{}', '[]', 'null', 'true', '"ok"']) {
    assert.deepEqual(read(200, body, json), plainly, body);
  }
});

test('a reply that says ignore or deny is taken at its word', () => {
  for (const body of ['ignore', ' Ignore\n', '{"result":"ignore"}']) {
    assert.equal(read(200, body).says, 'ignore', body);
  }
  for (const body of ['deny', '{"result":"deny","is_superuser":true}']) {
    assert.deepEqual(read(200, body), { says: 'deny', isLasting: true }, body);
  }
  assert.equal(read(200, '"ignore"', json).says, 'ignore');
  assert.equal(read(200, 'false', json).says, 'deny');
});

test('a reply of any other status denies; one of a server that is unable is not remembered', () => {
  for (const status of [201, 204, 302, 400, 401, 403, 404]) {
    assert.deepEqual(read(status, 'ignore'), { says: 'deny', isLasting: true }, `${status}`);
  }
  for (const status of [408, 429, 500, 502, 503]) {
    assert.deepEqual(read(status), { says: 'deny', isLasting: false }, `${status}`);
  }
});

test('a reply gives a mountpoint and the rights of a superuser', () => {
  const body = JSON.stringify({ mountpoint: 'dev/%c/', is_superuser: true, more: 1 });
  assert.deepEqual(read(200, body), { says: 'allow', isSuperuser: true, mountpoint: 'dev/%c/' });
  assert.deepEqual(read(200, '{"is_superuser":false}'), { ...plainly, isSuperuser: false });
  assert.deepEqual(read(200, '{"mountpoint":""}'), { ...plainly, mountpoint: '' });
});

test('a reply that cannot be understood opens nothing', () => {
  const wrong: [string | Buffer, string?, string?][] = [
    ['{"mountpoint": "a/'],
    ['not json', json],
    ['{"result":"perhaps"}'],
    ['{"is_superuser":"true"}'],
    ['{"mountpoint":null}'],
    ['{"mountpoint":["a"]}'],
    ['{"mountpoint":"a/#"}'],
    ['{"mountpoint":"+/"}'],
    ['{"mountpoint":"$SYS/"}'],
    ['{"mountpoint":"$share/g/"}'],
    ['{"mountpoint":"a\\u0000/"}'],
    [`{"mountpoint":"${'x'.repeat(1025)}"}`],
    [Buffer.from([0xff, 0xfe, 0x69, 0x00])],
    ['anything', '', 'gzip'],
  ];
  for (const [body, ...rest] of wrong) {
    assert.equal(read(200, body, ...rest).says, 'nonsense', body.toString());
  }
});
