// docs/access-control.md does what it says: its rules are rules, and its commands print what it shows.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import test from 'node:test';
import { callNode } from '../../src/cli/ctl-call.ts';
import { publishCode, RuledNode, subscribeCode } from './acl-fixture.ts';

const docs = readFileSync(new URL('../../docs/access-control.md', import.meta.url), 'utf8');

function blocks(language: string): string[] {
  const fence = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm');
  return Array.from(docs.matchAll(fence), ([, text = '']) => text);
}

interface Example {
  readonly command: string;
  readonly output: string;
}

const examples: readonly Example[] = blocks('sh').flatMap((block) =>
  block
    .split(/^\$ /m)
    .slice(1)
    .map((text) => {
      const [command = '', ...output] = text.split('\n');
      return { command, output: output.join('\n') };
    }),
);

test('every example of the guide prints what it shows', async () => {
  const [rules = '', next = ''] = blocks('erlang');
  await using node = await RuledNode.start({ rules, settings: { acl_cache_ttl: '1h' } });
  const directory = dirname(node.file);
  writeFileSync(join(directory, 'next.conf'), next);
  const sensor = await node.connect('sensor-1');
  assert.equal(await subscribeCode(sensor, 'devices/sensor-1/set'), 1);
  assert.equal(await subscribeCode(sensor, 'public/news'), 1);
  assert.equal(await publishCode(sensor, 'devices/sensor-1/temperature'), 0x10);
  assert.ok(examples.length >= 10);
  for (const { command, output } of examples) {
    if (command === 'cp next.conf etc/acl.conf') {
      node.write(next);
      continue;
    }
    if (command === 'broker_ctl acl cache sensor-1' && output !== '') {
      // The reload has ended its connection.
      const again = await node.connect('sensor-1');
      assert.equal(await publishCode(again, 'devices/sensor-1/temperature'), 0x10);
    }
    const said = { out: '', err: '' };
    await callNode(
      node.managed.parts.settings.node.dataDir,
      { args: command.split(' ').slice(1), json: false, cwd: directory },
      {
        out: async (text) => void (said.out += text),
        err: async (text) => void (said.err += text),
      },
    );
    const masked = (said.out + said.err).replaceAll(node.file, 'etc/acl.conf');
    const ages = /\d+\.\d s ago/g;
    assert.equal(masked.replaceAll(ages, '<age>'), output.replaceAll(ages, '<age>'), command);
  }
});
