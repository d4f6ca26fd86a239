import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { nullLogger } from '#base/log';
import type { AclSettings } from '#config/settings';
import type { WorkersFace } from '#node/node-face';
import { Acl } from './acl.ts';

function setUp(t: TestContext, isRechecked = true) {
  const dir = mkdtempSync(join(tmpdir(), 'broker-acl-'));
  t.after(() => rmSync(dir, { recursive: true }));
  const file = join(dir, 'acl.conf');
  const upheld: string[] = [];
  const events: string[] = [];
  const workers = {
    async uphold(_verb: string, [text]: readonly [string]) {
      events.push('uphold');
      await new Promise(setImmediate);
      upheld.push(text);
      events.push('upheld');
      return [];
    },
    async everywhere() {
      events.push('recheck');
      const ended = { clients: 1, subscriptions: 2, messages: 3, undecided: 0 };
      return {
        answers: [
          ['worker 0', ended],
          ['worker 1', ended],
        ],
        missing: [['worker 2', 'busy']],
      };
    },
  } as unknown as WorkersFace;
  const alarms = {
    raise: (name: string) => void events.push(`raise ${name}`),
    clear: (name: string) => void events.push(`clear ${name}`),
  };
  const acl = { file, isRechecked } as AclSettings;
  const write = (text: string): void => writeFileSync(file, text);
  return {
    acl: new Acl({ workers, settings: { acl }, alarms, log: nullLogger }),
    write,
    upheld,
    events,
  };
}

test('a reload is upheld, then rechecked, and says what ended in all workers', async (t) => {
  const { acl, write, upheld, events } = setUp(t);
  write('{allow, all}.');
  await acl.start();
  write('{deny, all}.');
  events.length = 0;
  assert.deepEqual(await acl.reload(), {
    rules: 1,
    clients: 2,
    subscriptions: 4,
    messages: 6,
    undecided: 0,
    missing: ['worker 2: busy'],
  });
  assert.deepEqual(upheld, ['{allow, all}.', '{deny, all}.']);
  assert.deepEqual(events, ['uphold', 'upheld', 'clear acl_reload_failed', 'recheck']);
});

test('one reload after the other: what is read last is what holds', async (t) => {
  const { acl, write, events } = setUp(t);
  write('{allow, all}.');
  await acl.start();
  events.length = 0;
  await Promise.all([acl.reload(), acl.reload()]);
  const one = ['uphold', 'upheld', 'clear acl_reload_failed', 'recheck'];
  assert.deepEqual(events, [...one, ...one]);
});

test('a reload follows one that failed, and nothing is rechecked without acl.recheck', async (t) => {
  const { acl, write, upheld, events } = setUp(t, false);
  write('{allow, all}.');
  await acl.start();
  write('{allow');
  events.length = 0;
  const failed = acl.reload();
  const good = failed.catch(() => write('{deny, all}.')).then(() => acl.reload());
  await assert.rejects(failed, { code: 102, message: /The rules before it hold$/ });
  assert.equal((await good).rules, 1);
  assert.deepEqual(upheld, ['{allow, all}.', '{deny, all}.']);
  assert.deepEqual(events, [
    'raise acl_reload_failed',
    'uphold',
    'upheld',
    'clear acl_reload_failed',
  ]);
});

test('a start with a file that cannot be read is refused, and nothing is upheld', async (t) => {
  const { acl, write, upheld } = setUp(t);
  await assert.rejects(acl.start(), { name: 'AclUnusable', message: /it does not exist$/ });
  write('{allow, all}');
  await assert.rejects(acl.start(), { name: 'AclUnusable', message: /acl\.conf:1:13: found/ });
  assert.deepEqual(upheld, []);
});
