import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import test from 'node:test';
import { basic } from '#test/managed';
import { BrokerProcess, onlyListeners, Place } from '../interop/broker-process.ts';
import { runToEnd } from '../interop/outside-program.ts';
import { installRoot } from '#base/install-root';

const sets = [
  ...onlyListeners('tcp').filter((set) => !/^(management|dashboard)/.test(set)),
  'management.listener.http=127.0.0.1:0',
  'dashboard.listener.http=0',
];

function statusOf(port: number, path: string, auth: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const headers = { authorization: basic(auth), connection: 'close' };
  request({ host: '127.0.0.1', port, path, headers }, (response) => {
    response.resume();
    resolve(response.statusCode ?? 0);
  })
    .on('error', reject)
    .end();
  return promise;
}

function ctl(place: Place, ...words: string[]): ReturnType<typeof runToEnd> {
  const program = join(installRoot, 'bin', 'broker_ctl');
  return runToEnd(program, ['--data-dir', place.dataDir, ...words]);
}

test('a broker as it is shipped tells what is open, warns of its password, and is managed', async () => {
  using place = new Place();
  const broker = await BrokerProcess.start([...sets, 'log.to=both', 'log.level=debug'], { place });
  {
    await using running = broker;
    const { out } = running.program;
    const management = /^ {2}http:management 127\.0\.0\.1:(\d+) +REST API, for applications$/m.exec(
      out,
    )?.[1];
    const shown = /^ {2}http:dashboard 127\.0\.0\.1:(\d+) +(.*)$/m.exec(out);
    assert.ok(management && shown, out);
    assert.match(
      String(shown[2]),
      /CHANGE THE SHIPPED PASSWORD: bin\/broker_ctl admins passwd admin/,
    );
    assert.equal(running.events('dashboard.password.shipped').length, 1);
    const inserted = await ctl(place, 'mgmt', 'insert', 'app', 'App');
    const secret = /^AppSecret: (\w+)$/m.exec(inserted.out)?.[1];
    assert.ok(secret, inserted.out + inserted.err);
    assert.equal(await statusOf(Number(management), '/api/v3/nodes', `app:${secret}`), 200);
    assert.equal(await statusOf(Number(shown[1]), '/api/v3/nodes', 'admin:public'), 200);
    const changed = await ctl(place, 'admins', 'passwd', 'admin', 'hushhush-1');
    assert.equal(changed.out, 'ok\n');
    assert.equal(await statusOf(Number(shown[1]), '/api/v3/nodes', 'admin:public'), 401);
    assert.equal(await statusOf(Number(shown[1]), '/api/v3/nodes', 'admin:hushhush-1'), 200);
    const logs = readdirSync(place.logDir).map((name) => readFileSync(join(place.logDir, name)));
    for (const hidden of [secret, 'hushhush-1']) {
      assert.ok(!logs.some((text) => text.includes(hidden)), `${hidden} is in the log`);
    }
  }
  await using again = await BrokerProcess.start(sets, { place });
  assert.match(again.program.out, /^ {2}http:dashboard \*:\d+ +REST API, for users$/m);
  assert.equal(again.events('dashboard.password.shipped').length, 0);
});
