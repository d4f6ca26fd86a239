import assert from 'node:assert/strict';
import test from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Type } from 'typebox';
import { define } from '#admin/operation';
import { type OpenApiDocument, openApi } from '#admin/openapi';
import { openApiPage } from '#admin/openapi-page';
import { paperCatalogueOfAll } from '#host/paper-plugins';
import { type Managed, startManaged } from '#test/managed';

const catalogue = await paperCatalogueOfAll();

type Json = Readonly<Record<string, unknown>>;

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
}

/** One that has everything: all places of parameters, HTML in its words. */
const strange = define({
  name: 'strange',
  descr: 'Does <b>"strange"</b> things & more',
  tag: 'Strange',
  http: { method: 'PUT', path: '/strange/:who' },
  params: Type.Object({
    who: Type.String({ description: 'Whoever <it> is' }),
    how: Type.Integer({ minimum: 1 }),
    why: Type.Optional(Type.String()),
  }),
  result: Type.Object({ done: Type.Boolean() }),
  run: () => ({ done: true }),
});

async function documentOf(managed: Managed): Promise<OpenApiDocument> {
  const { status, headers, text } = await managed.get('/openapi.json');
  assert.equal(status, 200);
  assert.equal(headers['content-type'], 'application/json');
  return JSON.parse(text) as OpenApiDocument;
}

function operationsOf({ paths }: OpenApiDocument): [path: string, operation: Json][] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.values(item).map((operation): [string, Json] => [path, operation]),
  );
}

test('GET /openapi.json is a valid OpenAPI 3.1 document of all operations of the node', async () => {
  await using managed = await startManaged();
  const document = await documentOf(managed);
  assert.deepEqual(await new Validator().validate(structuredClone(document)), { valid: true });
  const { catalogue } = managed.parts;
  const served = catalogue.all().filter(({ http }) => http !== undefined);
  assert.equal(operationsOf(document).length, served.length);
  const ids = operationsOf(document).map(([, { operationId }]) => operationId);
  assert.equal(new Set(ids).size, ids.length, 'every operation has an id of its own');
});

test('the validator of the tests refuses a document that is not OpenAPI', async () => {
  const document = { ...openApi([strange], '1.0.0'), servers: 'here' };
  const { valid } = await new Validator().validate(document);
  assert.equal(valid, false);
});

test('GET /openapi.json and GET /docs follow the catalogue while the node runs', async () => {
  await using managed = await startManaged();
  const { catalogue } = managed.parts;
  const path = '/api/v3/strange/{who}';
  assert.equal((await documentOf(managed)).paths[path], undefined);
  catalogue.add('broker_strange', [strange]);
  assert.ok((await documentOf(managed)).paths[path]?.['put']);
  assert.ok((await managed.get('/docs')).text.includes('id="strange"'));
  catalogue.remove('broker_strange');
  assert.equal((await documentOf(managed)).paths[path], undefined);
  assert.ok(!(await managed.get('/docs')).text.includes('id="strange"'));
});

test('OpenAPI tells where each parameter stands', () => {
  const [[path, operation] = ['', {}]] = operationsOf(openApi([strange], '1.0.0'));
  assert.equal(path, '/api/v3/strange/{who}');
  assert.deepEqual(operation['parameters'], [
    {
      name: 'who',
      in: 'path',
      required: true,
      description: 'Whoever <it> is',
      schema: { type: 'string' },
    },
  ]);
  const body = operation['requestBody'] as { content: Record<string, { schema: Json }> };
  const schema = body.content['application/json']?.schema;
  assert.deepEqual(schema?.['required'], ['how']);
  assert.deepEqual(Object.keys(schema?.['properties'] ?? {}), ['how', 'why']);
});

test('every path of OpenAPI has its parameters, and every operation an answer and a tag', () => {
  for (const [path, operation] of operationsOf(openApi(catalogue.all(), '1.0.0'))) {
    const parameters = operation['parameters'] as readonly Parameter[];
    const inPath = parameters.filter((parameter) => parameter.in === 'path');
    const named = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '');
    assert.deepEqual(inPath.map(({ name }) => name).sort(), named.sort(), path);
    assert.ok(inPath.every(({ required }) => required));
    const responses = operation['responses'] as Json;
    assert.ok(responses['200'] !== undefined && responses['500'] !== undefined, path);
    const isOpen = operation['security'] !== undefined;
    assert.equal(responses['401'] === undefined, isOpen, `${path} says who may call it`);
    assert.equal((operation['tags'] as readonly string[]).length, 1);
  }
});

test('a paged operation has meta and takes _page and _limit', () => {
  const [, operation] =
    operationsOf(openApi(catalogue.all(), '1.0.0')).find(
      ([, { operationId }]) => operationId === 'list_connections',
    ) ?? assert.fail();
  const names = (operation['parameters'] as readonly Parameter[]).map(({ name }) => name);
  assert.deepEqual(names, ['_page', '_limit']);
  assert.match(JSON.stringify(operation['responses']), /"required":\["code","data","meta"\]/);
});

test('GET /docs is one page that needs nothing else', async () => {
  await using managed = await startManaged();
  const { status, headers, text } = await managed.get('/docs');
  assert.equal(status, 200);
  assert.equal(headers['content-type'], 'text/html; charset=utf-8');
  assert.doesNotMatch(text, /\bsrc=|@import|url\(|<link/);
  const links = [...text.matchAll(/href="([^"]*)"/g)].map((match) => match[1] ?? '');
  assert.ok(links.every((link) => link.startsWith('#') || link === '/api/v3/openapi.json'));
  assert.ok(text.includes('curl -s -u &quot;$APP&quot;'));
  for (const { tag } of managed.parts.catalogue.all().filter(({ http }) => http)) {
    assert.ok(text.includes(`<h2>${tag}</h2>`), tag);
  }
});

test('the page writes the words of operations as text', () => {
  const page = openApiPage([strange], '1.0.0');
  assert.ok(page.includes('Does &lt;b&gt;&quot;strange&quot;&lt;/b&gt; things &amp; more'));
  assert.ok(page.includes('Whoever &lt;it&gt; is'));
  assert.ok(!page.includes('<it>'));
});

test('GET /openapi.json and GET /docs want credentials', async () => {
  await using managed = await startManaged();
  for (const path of ['/openapi.json', '/docs']) {
    assert.equal((await managed.get(path, { auth: '' })).status, 401);
  }
});
