// Rules go from node to node with the resources that they need; secrets go with them only where asked for.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import type { Managed } from '#test/managed';
import { startRuled } from './rules-fixture.ts';

interface Document {
  readonly version: number;
  readonly resources: readonly Readonly<Record<string, unknown>>[];
  readonly rules: readonly Readonly<Record<string, unknown>>[];
}

const hook = {
  type: 'web_hook',
  name: 'alerts',
  config: { url: 'http://127.0.0.1:1', headers: { authorization: 'Bearer s3cret', room: '7' } },
  description: 'd',
};
const rule = {
  id: 'rule:told',
  rawsql: 'SELECT * FROM "t"',
  actions: [{ name: 'data_to_webserver', params: { $resource: 'web_hook:alerts' } }],
};

async function prepared(): Promise<Managed> {
  const managed = await startRuled();
  assert.equal((await managed.post('/resources', hook)).body.code, 0);
  assert.equal((await managed.post('/rules', rule)).body.code, 0);
  return managed;
}

async function exported(managed: Managed, query = ''): Promise<Document> {
  const { body } = await managed.get(`/rules/export${query}`);
  assert.equal(body.code, 0, body.message ?? '');
  return body.data as Document;
}

async function refusal(managed: Managed, document: unknown): Promise<string> {
  const { status, body } = await managed.post('/rules/import', document);
  assert.deepEqual([status, body.code], [200, 400], JSON.stringify(body));
  return body.message ?? '';
}

test('an export has the resources of its rules, and secrets only where somebody asks for them', async () => {
  await using managed = await prepared();
  const plain = await exported(managed);
  assert.equal(JSON.stringify(plain).includes('s3cret'), false);
  assert.partialDeepStrictEqual(plain.resources, [
    {
      ...{ id: 'web_hook:alerts', name: 'alerts', type: 'web_hook', description: 'd' },
      config: { url: hook.config.url, headers: { authorization: '******', room: '7' } },
    },
  ]);
  const whole = await exported(managed, '?secrets=true');
  assert.partialDeepStrictEqual(whole.resources, [{ config: hook.config }]);
  const { stdout } = await managed.ctl('rules', 'export', '--secrets=true');
  assert.deepEqual(JSON.parse(stdout), whole);
  assert.deepEqual(JSON.parse((await managed.ctl('rules', 'export')).stdout), plain);
});

test('a document with secrets makes another node the same', async () => {
  await using from = await prepared();
  await using to = await startRuled(2);
  const whole = await exported(from, '?secrets=true');
  const taken = await to.post('/rules/import', whole);
  const resources = { created: 1, replaced: 0 };
  assert.deepEqual(taken.body.data, { created: 1, replaced: 0, resources });
  assert.deepEqual(await exported(to, '?secrets=true'), whole);
  writeFileSync(join(to.dir, 'rules.json'), JSON.stringify(whole));
  const { stdout } = await to.ctl('rules', 'import', join(to.dir, 'rules.json'));
  assert.equal(stdout, '0 created, 1 replaced; resources: 0 created, 1 replaced\n');
});

test('a mark stands for the secret that is there, and for nothing where there is none', async () => {
  await using from = await prepared();
  const plain = await exported(from);
  await using to = await startRuled();
  assert.match(
    await refusal(to, plain),
    /^Bad Arguments: Resource web_hook:alerts: .*"headers\.authorization" is \*{6}, and there is nothing yet/,
  );
  assert.deepEqual(await exported(to), { version: 1, resources: [], rules: [] });
  assert.equal((await from.post('/rules/import', plain)).body.code, 0);
  const kept = await exported(from, '?secrets=true');
  assert.partialDeepStrictEqual(kept.resources, [{ config: hook.config }]);
  const { body } = await to.post('/resources', {
    ...hook,
    config: { ...hook.config, headers: { authorization: '******' } },
  });
  assert.deepEqual([body.code, (await exported(to)).resources], [400, []]);
});

test('an import is whole or nothing, resources and rules together', async () => {
  await using managed = await startRuled();
  const resource = { id: 'built_in:a', name: 'a', type: 'built_in', config: {}, description: '' };
  const web = { ...hook, id: 'web_hook:alerts' };
  const cases: readonly (readonly [object, RegExp])[] = [
    [{ resources: [web], rules: [{ ...rule, rawsql: 'SELECT' }] }, /Rule rule:told: Cannot read/],
    [{ resources: [], rules: [rule] }, /Rule rule:told: Resource web_hook:alerts Not Found/],
    [{ resources: [web, web], rules: [] }, /"web_hook:alerts" is there twice/],
    [{ resources: [{ ...web, id: 'web_hook:b' }], rules: [] }, /has the name of "web_hook:alerts"/],
    [{ resources: [{ type: 'built_in' }], rules: [] }, /each with an id/],
    [{ resources: ['a'], rules: [] }, /each with an id/],
    [{ resources: {}, rules: [] }, /a list of resources/],
    [{ resources: [{ ...resource, id: 'a b', name: undefined }], rules: [] }, /each with an id/],
    [{ resources: [resource, { ...web, config: {} }], rules: [] }, /web_hook:alerts: .*"url"/],
    [{ resources: [{ id: 'x', type: 'nonsense' }], rules: [] }, /Resource Type nonsense Not Found/],
    [{ resources: [resource], rules: 5 }, /expected \{"version": 1/],
  ];
  for (const [document, message] of cases) {
    assert.match(await refusal(managed, { version: 1, ...document }), message);
    assert.deepEqual(await exported(managed), { version: 1, resources: [], rules: [] });
  }
  await managed.post('/resources', { type: 'built_in', name: 'a', config: {} });
  const other = { ...resource, type: 'web_hook', name: undefined, config: hook.config };
  assert.match(
    await refusal(managed, { version: 1, resources: [other], rules: [] }),
    /Resource built_in:a: it is of type built_in here/,
  );
});
