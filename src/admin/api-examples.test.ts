import assert from 'node:assert/strict';
import test from 'node:test';
import { type TObject, type TSchema, Type } from 'typebox';
import { apiDocs } from './api-docs.ts';
import { apiEntries } from './api-docs-entries.ts';
import { exampleCalls } from './api-example-calls.ts';
import { exampleOf } from './api-examples.ts';
import { type AnyOperation, define, type HttpFace } from './operation.ts';
import { pagingParams } from './paging.ts';
import { paperCatalogue } from './paper-catalogue.ts';

function example(http: HttpFace, params: TObject, result?: TSchema) {
  const operation: AnyOperation = define({
    name: 'new_one',
    descr: 'New',
    tag: 'Test',
    http,
    params,
    ...(result && { result }),
    run: () => undefined,
  });
  const [entry] = apiEntries([operation]);
  return (entry && exampleOf(entry)) ?? assert.fail('there is an example');
}

test('an operation without an example gets one from its schemas', () => {
  const { curl, answer } = example(
    { method: 'POST', path: '/things/:topic' },
    Type.Object({
      topic: Type.String(),
      count: Type.Integer({ minimum: 3 }),
      note: Type.Optional(Type.String()),
      level: Type.Union([Type.Literal('low'), Type.Literal('high')]),
    }),
    Type.Array(Type.Object({ client_id: Type.String(), isNew: Type.Optional(Type.Boolean()) })),
  );
  const body = `'{"count":3,"level":"low"}'`;
  const url = `'http://127.0.0.1:8080/api/v3/things/plant%2F1%2Ftemperature'`;
  assert.equal(curl, `curl -s -u "$APP" -X POST -d ${body} ${url}`);
  assert.equal(answer, '{"code":0,"data":[{"client_id":"sensor-1"}]}');
});

test('the example of a paged operation asks for one row and has meta', () => {
  const { curl, answer } = example(
    { method: 'GET', path: '/things' },
    Type.Object(pagingParams(10_000)),
    Type.Array(Type.String()),
  );
  assert.match(curl, /\/things\?_limit=1'$/);
  assert.match(answer, /"meta":\{"page":1,"limit":1,"count":1\}/);
});

test('the example of an operation of the dashboard uses its port and its users', () => {
  const { curl } = example({ method: 'GET', path: '/x', port: 'dashboard' }, Type.Object({}));
  assert.equal(curl, `curl -s -u "$DASHBOARD_USER" 'http://127.0.0.1:18083/api/v3/x'`);
});

test('the example of an open operation carries no credentials', () => {
  const { curl } = example({ method: 'GET', path: '/x', isOpen: true }, Type.Object({}));
  assert.equal(curl, `curl -s 'http://127.0.0.1:8080/api/v3/x'`);
});

test('an example that belongs to no operation is found', () => {
  const names = new Set(
    paperCatalogue()
      .all()
      .map(({ name }) => name),
  );
  assert.deepEqual(
    Object.keys(exampleCalls).filter((name) => !names.has(name)),
    [],
  );
});

test('the documentation is the same each time it is made', () => {
  assert.equal(apiDocs(paperCatalogue().all()), apiDocs(paperCatalogue().all()));
});
