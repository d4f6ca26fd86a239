// Secrets, and files that are not what they were. Law: a secret is repeated nowhere, neither to who sent
// it nor in the log; a value that was set is the one that is read after a restart; a trace gives away
// nothing but traces.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { loadConfig } from '#config/load';
import { startManaged } from '#test/managed';

const passwordKey = 'dashboard.default_user.password';
const told = 'TOPSECRET';

test('a secret that is refused is not repeated, in no answer and no line of the log', async () => {
  await using managed = await startManaged();
  const answers = [
    ...(await Promise.all(
      [`${told}\nx`, told.repeat(100), `${told}\ud800`].map((value) =>
        managed.put('/configs/broker_dashboard', { key: passwordKey, value }),
      ),
    )),
    await managed.get('/configs'),
    await managed.get('/nodes', { auth: `${told}:${told}` }),
    await managed.post('/mqtt/publish', undefined, { raw: `{}`, auth: `test:${told}` }),
  ];
  const { stdout, stderr } = await managed.ctl(
    ...['configs', 'set', 'broker_dashboard', passwordKey, told.repeat(100)],
  );
  for (const text of [...answers.map((answer) => answer.text), stdout, stderr]) {
    assert.ok(!text.includes(told), text);
  }
  assert.deepEqual(
    managed.logged.filter((line) => line.includes(told) || line.includes('known-to-tests-only')),
    [],
  );
});

test('a secret that does not start a broker is not repeated either', () => {
  const sets = [`${passwordKey}=${told.repeat(100)}`, 'management.listener.http=x'];
  assert.throws(
    () => loadConfig({ configFile: undefined, sets }),
    ({ message }: Error) => !message.includes(told) && message.includes('management.listener.http'),
  );
});

test('half a character cannot be set: a restart would read another one', async () => {
  await using managed = await startManaged();
  const value = 'pass\ud800word';
  const { body } = await managed.put('/configs/broker_dashboard', { key: passwordKey, value });
  assert.equal(body.code, 102);
  assert.match(body.message ?? '', /Unicode/);
});

test('what is set is what a restart reads, whatever it looks like', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'broker-hostile-'));
  const values = [
    '# no comment',
    'a # b',
    '"quoted"',
    ' spaces ',
    'back\\slash\\',
    '\u2003allow_anonymous = false',
    '\u0085x\u00a0',
    '\ufeff#x',
    'a = b',
    "'",
    '\\"',
    '\x1b[31m',
  ];
  for (const value of values) {
    {
      await using managed = await startManaged({ dir, conf: '' });
      const key = passwordKey;
      const { body } = await managed.put('/configs/broker_dashboard', { key, value });
      assert.equal(body.code, 0, JSON.stringify([value, body]));
    }
    const configFile = join(dir, 'broker.conf');
    const sets = [`node.data_dir=${join(dir, 'data')}`];
    const { settings, effective } = loadConfig({ configFile, sets });
    assert.equal(settings.dashboard.defaultPassword, value);
    const set = effective.filter(({ source }) => source === 'overrides').map(({ key }) => key);
    assert.deepEqual(set, [passwordKey]);
  }
  rmSync(dir, { recursive: true });
});

test('a trace whose file is gone or another is not found, and is no fault of ours', async () => {
  await using managed = await startManaged();
  await managed.post('/traces', { client_id: 'c', file: 'c.log' });
  const file = join(managed.dir, 'log', 'c.log');
  const download = () => managed.get('/traces/c.log/download');
  assert.match((await download()).text, /^# trace of client=c /);
  rmSync(file);
  const gone = await download();
  assert.deepEqual([gone.status, gone.body.code], [404, 404]);
  writeFileSync(file, `${told} of somebody else`);
  const other = await download();
  assert.deepEqual([other.status, other.text.includes(told)], [404, false]);
  rmSync(file);
  symlinkSync('/etc/passwd', file);
  const link = await download();
  assert.deepEqual([link.status, link.text.includes('root')], [404, false]);
  for (const name of ['..%2f..%2fetc%2fpasswd', '%2e%2e', 'broker.log', '%00', 'sym.log']) {
    assert.equal((await managed.get(`/traces/${name}/download`)).status, 404, name);
  }
});
