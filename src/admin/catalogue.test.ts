import assert from 'node:assert/strict';
import test from 'node:test';
import { Type } from 'typebox';
import { Catalogue, serviceIndex } from './catalogue.ts';
import { type AnyOperation, define, type HttpFace } from './operation.ts';
import { paperCatalogue } from './paper-catalogue.ts';

function operation(name: string, http?: HttpFace, words: readonly string[] = []): AnyOperation {
  return define({
    name,
    descr: name,
    tag: 'Test',
    ...(http && { http }),
    cli: words.map((command) => ({ words: command, args: [], print: () => '' })),
    params: Type.Object({}),
    run: () => undefined,
  });
}

const listNodes = operation('list_nodes', { method: 'GET', path: '/nodes', indexPath: '/nodes/' });

test('a catalogue lists owner by owner in the order of their names', () => {
  const catalogue = new Catalogue();
  catalogue.add('b', [operation('b1'), operation('b2')]);
  catalogue.add('a', [operation('a1')]);
  catalogue.add('b', [operation('b3')]);
  assert.deepEqual(
    catalogue.all().map(({ name }) => name),
    ['a1', 'b1', 'b2', 'b3'],
  );
});

test('a catalogue takes away what an owner brought, and tells of each change', () => {
  const catalogue = new Catalogue();
  const heard: number[] = [];
  catalogue.onChange(() => heard.push(catalogue.all().length));
  catalogue.add('a', [listNodes]);
  catalogue.remove('a');
  catalogue.remove('a');
  assert.deepEqual(heard, [1, 0]);
  catalogue.add('b', [listNodes]);
});

test('a catalogue refuses a route that exists under other names of parameters, and keeps the rest', () => {
  const catalogue = new Catalogue();
  catalogue.add('a', [operation('x', { method: 'GET', path: '/nodes/:node/stats' })]);
  const clash = operation('y', { method: 'GET', path: '/nodes/:name/stats' });
  assert.throws(() => catalogue.add('b', [listNodes, clash]), {
    message: 'Cannot add "GET /api/v3/nodes/:/stats" of b: it exists',
  });
  assert.equal(catalogue.all().length, 1);
  catalogue.add('b', [operation('z', { method: 'PUT', path: '/nodes/:name/stats' })]);
});

test('a catalogue refuses a command that exists', () => {
  const catalogue = new Catalogue();
  catalogue.add('a', [operation('x', undefined, ['clients list', 'clients all'])]);
  assert.throws(() => catalogue.add('b', [operation('y', undefined, ['clients all'])]), /exists/);
});

test('a path outside of /api/v3 is another one than the same path inside', () => {
  const catalogue = new Catalogue();
  catalogue.add('a', [operation('x', { method: 'GET', path: '/metrics' })]);
  const root = operation('y', { method: 'GET', path: '/metrics', root: true });
  catalogue.add('a', [root]);
  assert.throws(() => catalogue.add('a', [root]), /"GET \/metrics" of a: it exists/);
});

test('the commands of a catalogue are all faces of all operations', () => {
  const catalogue = new Catalogue();
  catalogue.add('a', [operation('x', undefined, ['one', 'two']), listNodes]);
  const words = catalogue.commands().map(({ operation: { name }, face }) => [name, face.words]);
  assert.deepEqual(words, [
    ['x', 'one'],
    ['x', 'two'],
  ]);
});

test('the service index of a port has what that port serves below /api/v3', () => {
  const operations = [
    listNodes,
    operation('only_cli', undefined, ['vm']),
    operation('apps', { method: 'GET', path: '/apps', port: 'dashboard' }),
    operation('scrape', { method: 'GET', path: '/metrics', root: true }),
  ];
  assert.deepEqual(serviceIndex(operations, 'management'), [
    { name: 'list_nodes', method: 'GET', path: '/nodes/', descr: 'list_nodes' },
  ]);
  assert.deepEqual(
    serviceIndex(operations, 'dashboard').map(({ name }) => name),
    ['list_nodes', 'apps'],
  );
});

test('the catalogue on paper is whole, and its operations have no node behind them', async () => {
  const operations = paperCatalogue().all();
  const scrape = operations.find(({ name }) => name === 'prometheus_metrics');
  assert.ok(scrape);
  const caller = { name: 'test', address: '', signal: new AbortController().signal };
  await assert.rejects(async () => scrape.run({}, caller), {
    message: 'Cannot call node.threads(): the catalogue on paper has no node behind it',
  });
});

test('every operation says what it does, where it stands, and how it is reached', () => {
  for (const { name, descr, tag, http, cli } of paperCatalogue().all()) {
    assert.match(name, /^[a-z][a-z0-9_]*$/, name);
    assert.ok(descr.trim() !== '' && !descr.trim().endsWith('.'), `${name}: "${descr}"`);
    assert.match(tag, /^[A-Z][\w ]*$/, `${name} has a tag`);
    assert.ok(http !== undefined || cli !== undefined, `${name} has a face`);
    assert.ok(!http?.path.endsWith('/') || http.path === '/', `${name} has no slash at the end`);
  }
});

test('every parameter in the path of an operation is one of its parameters', () => {
  for (const { name, http, params } of paperCatalogue().all()) {
    const inPath = [...(http?.path ?? '').matchAll(/:([^/]+)/g)].map((match) => match[1] ?? '');
    for (const param of [...inPath, ...(http?.bodyAs === undefined ? [] : [http.bodyAs])]) {
      assert.ok(param in params.properties, `${name} has "${param}" in its schema`);
    }
  }
});
