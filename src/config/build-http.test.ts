import assert from 'node:assert/strict';
import test from 'node:test';
import { loadPluginsConfig } from '#plugin/load-config';
import { ConfigError } from './config-error.ts';
import { installRoot } from '#base/install-root';
import { loadSettings } from './load.ts';

function problems(...sets: string[]): string {
  try {
    loadSettings({ sets });
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.message;
  }
  return '';
}

test('without a line there is neither management nor a dashboard to reach', () => {
  const { management, dashboard } = loadSettings({});
  assert.deepEqual([management.listeners, dashboard.listeners], [[], []]);
  assert.equal(management.rowsMax, 10_000);
});

test('the shipped files open management on 8080 and the dashboard on 18083', async () => {
  const { settings } = await loadPluginsConfig({ configFile: `${installRoot}/etc/broker.conf` });
  const ports = [...settings.management.listeners, ...settings.dashboard.listeners];
  assert.deepEqual(
    ports.map(({ key, host, port, tls }) => [key, host, port, tls]),
    [
      ['management.listener.http', undefined, 8080, undefined],
      ['dashboard.listener.http', undefined, 18_083, undefined],
    ],
  );
});

test('rules of a listener are in the order of their numbers', () => {
  const base = 'dashboard.listener.http';
  const { dashboard } = loadSettings({
    sets: [`${base}=1`, `${base}.access.10=deny all`, `${base}.access.2=allow 10.0.0.0/8`],
  });
  assert.deepEqual(dashboard.listeners[0]?.access, [
    { allow: true, range: '10.0.0.0/8' },
    { allow: false, range: 'all' },
  ]);
});

test('a port that two listeners want is a contradiction unless their addresses differ', () => {
  assert.match(
    problems('management.listener.http=8080', 'dashboard.listener.http=127.0.0.1:8080'),
    /dashboard\.listener\.http = .*: management\.listener\.http has that port already/,
  );
  assert.equal(
    problems('management.listener.http=127.0.0.1:8080', 'dashboard.listener.http=10.0.0.1:8080'),
    '',
  );
  assert.equal(
    problems('listener.tcp.external=0.0.0.0:8080', 'management.listener.http=[::1]:8080'),
    '',
    'all addresses of IPv4 are none of IPv6',
  );
  assert.match(
    problems('listener.tcp.external=8080', 'management.listener.http=[::1]:8080'),
    /management\.listener\.http = .*: listener\.tcp\.external has that port already/,
  );
  assert.equal(problems('management.listener.http=0', 'dashboard.listener.http=0'), '');
});

test('half a certificate, and one that nobody is asked for, are contradictions over TLS', () => {
  const base = 'management.listener.https';
  const half = problems(`${base}=8081`, `${base}.certfile=package.json`);
  assert.match(half, /certfile alone: expected management\.listener\.https\.keyfile as well/);
  const idle = problems(`${base}=8081`, `${base}.fail_if_no_peer_cert=true`);
  assert.match(idle, /fail_if_no_peer_cert: no certificate is asked for/);
});

test('keys of the original that have no meaning here are told apart from unknown ones', () => {
  assert.match(problems('management.listener.http.recbuf=4KB'), /can be removed/);
  assert.match(problems('management.listener.http.max_client=1'), /did you mean/);
});
