// Settings of the plugin, as a broker reads them.

import assert from 'node:assert/strict';
import test from 'node:test';
import { startManaged } from '#test/managed';
import { RawClient } from '#test/raw-client';
import { AuthServer, makePair, temporaryDir } from './auth-server-fixture.ts';

const name = 'broker_auth_http';

test('the plugin is not loaded without a URL, and says so', async () => {
  await using managed = await startManaged();
  const { stderr, stdout, code } = await managed.ctl('plugins', 'load', name);
  assert.notEqual(code, 0);
  assert.match(stdout + stderr, /auth\.http\.auth_req is not set, expected a URL/);
});

test('settings that contradict are refused', async () => {
  using dir = temporaryDir();
  const { certFile } = makePair(dir.path, 'client');
  const wrong: readonly (readonly [Record<string, string>, RegExp])[] = [
    [{ 'auth.http.auth_req': 'ftp://127.0.0.1/' }, /expected a URL such as http/],
    [{ 'auth.http.auth_req': 'http://user:pw@127.0.0.1/' }, /without user and password/],
    [{ 'auth.http.auth_req.params': 'a=%t' }, /one of %u %c %a %C %d %l %P;/],
    [{ 'auth.http.acl_req.params': 'a=%P' }, /one of %u %c %a %C %d %l %A %t %m;/],
    [{ 'auth.http.auth_req.params': 'a=1,2' }, /a comma in a text is written \\,/],
    [{ 'auth.http.auth_req.method': 'delete' }, /one of get, post, put/],
    [{ 'auth.http.header.content-length': '1' }, /Cannot set header content-length/],
    [{ 'auth.http.ssl.certfile': certFile }, /certfile alone: expected auth\.http\.ssl\.keyfile/],
  ];
  for (const [settings, expected] of wrong) {
    await assert.rejects(startManaged({ settings }), expected, JSON.stringify(settings));
  }
});

test('a header is a secret, and the older spelling of a key gives way to the right one', async () => {
  await using server = await AuthServer.start();
  const settings = {
    'plugins.loaded': name,
    'auth.http.auth_req': server.url(),
    'auth.http.header.authorization': 'Bearer known-to-nobody',
    'auth.http.request.connect_timout': '1ms',
    'auth.http.request.connect_timeout': '3s',
  };
  await using managed = await startManaged({ settings });
  await using client = await RawClient.open(managed.mqttPort);
  assert.equal((await client.connect()).reasonCode, 0);
  assert.equal((await server.untilAsked(1)).headers.authorization, 'Bearer known-to-nobody');
  const own = managed.parts.settings.plugins.get(name) as { connectTimeoutMs: number };
  assert.equal(own.connectTimeoutMs, 3000);
  for (const path of ['/configs', `/nodes/broker@127.0.0.1/plugin_configs/${name}`]) {
    const { text } = await managed.get(path);
    assert.ok(!text.includes('known-to-nobody'), path);
  }
});
