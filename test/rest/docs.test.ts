import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { promisify } from 'node:util';
import { Value } from 'typebox/value';
import { apiDocs } from '#admin/api-docs';
import { type ApiEntry, apiEntries } from '#admin/api-docs-entries';
import { facesOf, serviceIndex } from '#admin/catalogue';
import { openApi } from '#admin/openapi';
import { openApiPage } from '#admin/openapi-page';
import { paperCatalogueOfAll } from '#host/paper-plugins';
import { Plant } from './docs-fixture.ts';

const run = promisify(execFile);
const operations = (await paperCatalogueOfAll()).all();
const entries = apiEntries(operations);
const docs = readFileSync(new URL('../../docs/api.md', import.meta.url), 'utf8');

interface Example {
  readonly curl: string;
  readonly answer: string;
}

/** Of docs/api.md, by the heading that they stand under. */
const examples = new Map<string, Example>(
  docs.split(/^### /m).flatMap((section) => {
    const found = /^(\w+)\n[\s\S]*?```sh\n(.*)\n```\n\n```(?:json|text)\n([\s\S]*?)\n```/.exec(
      section,
    );
    return found
      ? [[found[1] ?? '', { curl: found[2] ?? '', answer: found[3] ?? '' }] as const]
      : [];
  }),
);

interface Output {
  readonly text: string;
  readonly status: string;
  readonly type: string;
}

/** As somebody would who has put his own address and secret in. */
async function runLine(line: string, { managed }: Plant): Promise<Output> {
  const put = line
    .replace('curl ', "curl -w '\\n%{http_code} %{content_type}' ")
    .replace('127.0.0.1:8080', `127.0.0.1:${managed.httpPort}`)
    .replace('127.0.0.1:18083', `127.0.0.1:${managed.portOf('dashboard')}`);
  const env = { ...process.env, APP: managed.auth, DASHBOARD_USER: 'admin:public' };
  const { stdout } = await run('bash', ['-c', put], { env, maxBuffer: 2 ** 26, timeout: 30_000 });
  const [, text = stdout, status = '', type = ''] = /^([\s\S]*)\n(\d{3}) (.*)$/.exec(stdout) ?? [];
  return { text, status, type };
}

test('docs/api.md is what the catalogue says today', () => {
  assert.equal(docs, apiDocs(operations), 'run "npm run gen"');
});

test('every operation is in the service index, in OpenAPI, on the page and in the documentation', () => {
  const index = serviceIndex(operations, 'dashboard').map(({ name, path }) => `${name} ${path}`);
  const document = openApi(operations, '0.0.0');
  const page = openApiPage(operations, '0.0.0');
  for (const { id, http, path, operation } of entries) {
    assert.ok(docs.includes(`\n### ${id}\n`), `docs/api.md has ${id}`);
    if (http === undefined) continue;
    assert.equal(document.paths[path]?.[http.method.toLowerCase()]?.['operationId'], id);
    assert.ok(page.includes(`<details id="${id}">`), `the page has ${id}`);
    assert.ok(examples.has(id), `docs/api.md has an example of ${id}`);
    const line = `${operation.name} ${http.indexPath ?? http.path}`;
    assert.equal(index.includes(line), http.root !== true, `the index has ${line}`);
  }
  assert.equal(examples.size, entries.filter(({ http }) => http !== undefined).length);
});

test('every operation with a command is in the help of the command line', () => {
  const text = readFileSync(new URL('../../src/cli/catalogue.json', import.meta.url), 'utf8');
  const { groups } = JSON.parse(text) as { groups: { lines: readonly string[] }[] };
  const lines = groups.flatMap((group) => group.lines);
  for (const { words } of operations.flatMap((operation) => facesOf(operation))) {
    const isTold = lines.some((line) => line.startsWith(`${words} `));
    assert.ok(isTold, `src/cli/catalogue.json has "${words}"`);
  }
});

test('the answers in docs/api.md are of the schemas', () => {
  for (const entry of entries) {
    const { answer } = examples.get(entry.id) ?? {};
    if (answer !== undefined && entry.http?.produces === undefined) checkEnvelope(entry, answer);
  }
});

test('every example of docs/api.md does what it says on a real node', async (t) => {
  await using plant = await Plant.start();
  for (const entry of entries) {
    const example = examples.get(entry.id);
    if (example === undefined) continue;
    await t.test(entry.id, async () => {
      await plant.prepare(entry.operation.name);
      const isPiped = example.curl.includes(' | ');
      const running = runLine(example.curl, plant);
      // Whoever follows a trace waits for something to happen.
      if (isPiped) await plant.publishUntil(running);
      const { text, status, type } = await running;
      assert.ok(isPiped || status === '200', `${example.curl}: ${status} ${text}`);
      if (entry.http?.produces === undefined) {
        assert.equal(type, 'application/json');
        const told = checkEnvelope(entry, text);
        assertShape(checkEnvelope(entry, example.answer), told, 'the answer');
      } else {
        assert.ok(isPiped || type === entry.http.produces);
        const [beginning = ''] = example.answer.split('…');
        assert.equal(text.slice(0, beginning.length), beginning);
        assert.notEqual(text, '');
      }
    });
  }
});

/** The envelope of a success of this operation, parsed. */
function checkEnvelope({ id, operation, isPaged }: ApiEntry, text: string): object {
  const answer = JSON.parse(text) as Readonly<Record<string, unknown>>;
  assert.equal(answer['code'], 0, `${id}: ${text}`);
  const { result } = operation;
  assert.equal('data' in answer, result !== undefined, `${id}: ${text}`);
  assert.equal('meta' in answer, isPaged, `${id}: ${text}`);
  if (result !== undefined) {
    const errors = Value.Errors(result, answer['data']);
    assert.deepEqual([...errors], [], `${id}: ${text}`);
  }
  return answer;
}

/** What is shown is there, of the same kind; where a list is shown with rows, there are rows. */
function assertShape(shown: unknown, told: unknown, place: string): void {
  assert.equal(kindOf(told), kindOf(shown), `${place} is ${kindOf(shown)}`);
  if (Array.isArray(shown) && Array.isArray(told)) {
    assert.equal(told.length > 0, shown.length > 0, `${place} has rows`);
    told.slice(0, shown.length).forEach((row, i) => assertShape(shown[i], row, `${place}[${i}]`));
  } else if (typeof shown === 'object' && shown !== null) {
    for (const [field, value] of Object.entries(shown)) {
      const other = (told as Readonly<Record<string, unknown>>)[field];
      assertShape(value, other, `${place}.${field}`);
    }
  }
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  return value === null ? 'null' : typeof value;
}
