// The older form of the commands: names and hooks stand before what was enough later.

import assert from 'node:assert/strict';
import test from 'node:test';
import { startRuled } from './rules-fixture.ts';

test('rules and resources are created with names by the older form of the commands', async () => {
  await using managed = await startRuled();
  const out = async (...args: readonly string[]): Promise<string> => {
    const { stdout, stderr } = await managed.ctl(...args);
    return `${stdout}${stderr}`;
  };
  const config = '{"url":"http://127.0.0.1:1"}';
  assert.equal(
    await out('resources', 'create', 'alerts', 'web_hook', '-c', config, '-d', 'x'),
    'Resource web_hook:alerts created\n',
  );
  const actions = '[{"name":"web_hook:event_action","params":{"$resource":"web_hook:alerts"}}]';
  const made = await out(
    ...['rules', 'create', 'come', 'client.connected', 'SELECT * FROM "#"', actions, '-d', 'who'],
  );
  const id = /^Rule (rule:[0-9a-f]{8}) created\n$/.exec(made)?.[1] ?? made;
  const line = await out('rules', 'show', id);
  assert.ok(line.startsWith(`rule(id='${id}', name='come', for='['client.connected']'`), line);
  assert.match(line, /description='who'\)\n$/);
  const listed = await out('rule-actions', 'list', '-t', 'web_hook', '-k', 'message.publish');
  assert.match(listed, /^action\(name='data_to_webserver'.*\n$/);
  assert.match(await out('rules', 'create', 'one', 'two', 'three'), /wrong arguments/);
});
