import assert from 'node:assert/strict';
import test from 'node:test';
import { Type } from 'typebox';
import { apiDocs } from './api-docs.ts';
import { openApiPage } from './openapi-page.ts';
import { define } from './operation.ts';

const params = Type.Object({ file: Type.String() });
const base = { descr: 'Do it', tag: 'Doing', params, run: () => undefined };
const print = (): string => '';
const operations = [
  define({ ...base, name: 'command', cli: { words: 'do', args: ['file'], print } }),
  define({ ...base, name: 'call', http: { method: 'GET', path: '/do' } }),
  define({ ...base, name: 'inside', http: { method: 'GET', path: '/in', port: 'dashboard' } }),
];

test('the documentation says of a command alone that its parameters are arguments', () => {
  const [, command = '', call = ''] = apiDocs(operations).split('\n### ');
  assert.match(command, /^command\n[^]*\n`broker_ctl do <File>`, a command alone\n/);
  assert.match(command, /\| `file` \| argument \| text \| required \|/);
  assert.match(call, /\| `file` \| query \| text \| required \|/);
});

test('the documentation begins with the application that the first start makes', () => {
  assert.match(apiDocs([]), /\nAPP=\$\(cat data\/api-secret\)\n/);
});

test('the page says in the list what is only on the port of the dashboard', () => {
  const page = openApiPage(operations, '1.0.0');
  assert.match(page, /\/api\/v3\/in<\/code>.*<small>dashboard port<\/small><\/summary>/);
  assert.doesNotMatch(page, /\/api\/v3\/do<\/code>.*<small>/);
});
