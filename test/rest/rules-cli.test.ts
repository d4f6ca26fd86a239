import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { callNode } from '../../src/cli/ctl-call.ts';
import { type Managed } from '#test/managed';
import { startRuled } from './rules-fixture.ts';

/** As in a directory. */
async function ctlIn(managed: Managed, cwd: string, args: readonly string[]): Promise<string> {
  let said = '';
  const say = async (text: string): Promise<void> => void (said += text);
  const { dataDir } = managed.parts.settings.node;
  await callNode(dataDir, { args, json: false, cwd }, { out: say, err: say });
  return said;
}

test('a rule is printed in the words of the original, in one line', async () => {
  await using managed = await startRuled();
  const rawsql = 'SELECT *\n  FROM "t/#",\r\n "client.connected"';
  const actions = [{ name: 'do_nothing', params: { a: '\u001b[31m' } }];
  const body = { id: 'rule:1', name: 'first', rawsql, actions, description: 'a\nb\u0007' };
  await managed.post('/rules', body);
  const { stdout, code } = await managed.ctl('rules', 'show', 'rule:1');
  assert.equal(code, 0);
  const node = managed.parts.settings.node.name;
  assert.equal(
    stdout.replace(/do_nothing_\d+/, 'do_nothing_1'),
    `rule(id='rule:1', name='first', for='['message.publish','client.connected']', ` +
      `rawsql='SELECT *   FROM "t/#",  "client.connected"', ` +
      `actions=[{"id":"do_nothing_1","name":"do_nothing","params":{"a":"\\u001b[31m"},` +
      `"metrics":[{"node":"${node}","success":0,"failed":0}]}], ` +
      `metrics=[{"node":"${node}","matched":0,"speed":0,"speed_max":0,"speed_last5m":0}], ` +
      `enabled='true', description='a b ')\n`,
  );
});

test('rules are imported from a file where the command was given, or not at all', async () => {
  await using managed = await startRuled();
  const put = (name: string, text: string): void => writeFileSync(join(managed.dir, name), text);
  const rule = { rawsql: 'SELECT * FROM "a"', actions: [], on_action_failed: 'stop' };
  put('good.json', JSON.stringify({ version: 1, rules: [{ id: 'rule:a', ...rule }] }));
  put('broken.json', '{"version":1,');
  put('list.json', '[]');
  put('wrong.json', JSON.stringify({ version: 1, rules: [{ id: 'rule:b', rawsql: 'no' }] }));
  mkdirSync(join(managed.dir, 'folder'));
  const run = (file: string): Promise<string> =>
    ctlIn(managed, managed.dir, ['rules', 'import', file]);
  assert.equal(await run('good.json'), '1 created, 0 replaced\n');
  assert.equal(await run(join(managed.dir, 'good.json')), '0 created, 1 replaced\n');
  assert.match(await run('broken.json'), /^Cannot read the rules ".*broken\.json": .*JSON/);
  assert.match(await run('list.json'), /found no object/);
  assert.match(await run('wrong.json'), /Rule rule:b: Cannot read the SQL/);
  assert.match(await run('folder'), /it is not a file/);
  assert.match(await run('none.json'), /it does not exist/);
  const { stdout } = await managed.ctl('rules', 'import', 'good.json');
  assert.match(stdout, /expected an absolute path/);
  const exported = JSON.parse((await managed.ctl('rules', 'export')).stdout) as {
    readonly rules: readonly object[];
  };
  assert.deepEqual(exported.rules, [
    {
      ...{ id: 'rule:a', rawsql: rule.rawsql, actions: [], enabled: true, description: '' },
      on_action_failed: 'stop',
    },
  ]);
});
