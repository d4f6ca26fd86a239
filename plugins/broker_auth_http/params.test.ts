import assert from 'node:assert/strict';
import test from 'node:test';
import { formOf, jsonOf, type Placeholder, parseParams, type Subject } from './params.ts';

const all: readonly Placeholder[] = ['%u', '%c', '%a', '%P', '%C', '%d', '%l', '%A', '%t', '%m'];

const subject: Subject = {
  clientId: 'c&1=2',
  username: 'ü %u "x"\u0000',
  address: '::1',
  password: Buffer.from([0xff, 0x26, 0x41]),
  commonName: 'device 1',
  distinguishedName: 'CN=device 1,O=x+y',
  localPort: 1883,
  action: 'subscribe',
  topic: 'a/+/#',
  mountpoint: 'dev/%c/',
};

const form = (written: string, of: Subject = subject): string =>
  formOf(parseParams(written, all) ?? assert.fail(written), of);

test('params stand for everything of a client, and every byte is written as data', () => {
  assert.equal(form('c=%c,u=%u'), 'c=c%261%3D2&u=%C3%BC%20%25u%20%22x%22%00');
  assert.equal(form('a=%a,P=%P'), 'a=%3A%3A1&P=%FF%26A');
  assert.equal(form('C=%C,d=%d,l=%l'), 'C=device%201&d=CN%3Ddevice%201%2CO%3Dx%2By&l=1883');
  assert.equal(form('A=%A,t=%t,m=%m'), 'A=1&t=a%2F%2B%2F%23&m=dev%2F%25c%2F');
  assert.equal(form('A=%A', { ...subject, action: 'publish' }), 'A=2');
});

test('params read back by a server are what the client showed', () => {
  const read = new URLSearchParams(form('c=%c,u=%u,d=%d,t=%t,m=%m'));
  const { clientId, username, distinguishedName, topic, mountpoint } = subject;
  assert.deepEqual(Object.fromEntries(read), {
    c: clientId,
    u: username,
    d: distinguishedName,
    t: topic,
    m: mountpoint,
  });
});

test('params replace a value only if it is exactly the placeholder', () => {
  assert.equal(form('a=x%c,b=%c%u,c=%cc1,d=%%,e='), 'a=x%25c&b=%25c%25u&c=%25cc1&d=%25%25&e=');
});

test('params take the older names of the parts of a certificate', () => {
  assert.equal(form('a=%cn,b=%dn'), form('a=%C,b=%d'));
});

test('params of what a client does not have are empty', () => {
  const bare: Subject = { clientId: '', username: undefined, address: '127.0.0.1' };
  assert.equal(form('c=%c,u=%u,P=%P,C=%C,d=%d,l=%l', bare), 'c=&u=&P=&C=&d=&l=');
  assert.equal(jsonOf(parseParams('u=%u,P=%P', all) ?? [], bare), '{"u":"","P":""}');
});

test('params may hold commas, backslashes and equals signs', () => {
  const params = parseParams(String.raw`a=1\,2,b=x=y,c=\\, d = e f `, all);
  assert.deepEqual(
    params?.map(({ name, text }) => [name, text]),
    [
      ['a', '1,2'],
      ['b', 'x=y'],
      ['c', '\\'],
      ['d', 'e f'],
    ],
  );
});

test('params that cannot be read are refused', () => {
  const wrong = [
    '',
    'a',
    '=b',
    'a=1,',
    ',a=1',
    'a=1,,b=2',
    'a=1,a=2',
    'a=%x',
    'a=%zz',
    'a=b\\c',
    'a=\\',
  ];
  for (const written of wrong) assert.equal(parseParams(written, all), undefined, written);
});

test('params refuse a placeholder that has no meaning where they stand', () => {
  assert.equal(parseParams('a=%P', ['%u', '%c']), undefined);
  assert.equal(parseParams('a=%t', ['%u', '%c']), undefined);
});

test('params in JSON are quoted, and names cannot reach the prototype', () => {
  const params = parseParams('__proto__=%u,c=%c', all) ?? [];
  const text = jsonOf(params, { ...subject, username: '"},{"' }) ?? '';
  assert.equal(text, '{"__proto__":"\\"},{\\"","c":"c&1=2"}');
});

test('params in JSON cannot say a password that is no text', () => {
  const params = parseParams('p=%P', all) ?? [];
  assert.equal(jsonOf(params, subject), undefined);
  assert.equal(jsonOf(params, { ...subject, password: Buffer.from('ü') }), '{"p":"ü"}');
});
