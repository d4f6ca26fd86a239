import assert from 'node:assert/strict';
import test from 'node:test';
import { loadConfig } from '#config/load';
import { bannerLines } from './banner.ts';

const { settings } = loadConfig({
  sets: ['listener.tcp.external=1883', 'zone.external.allow_anonymous=false'],
  overrides: new Map(),
});
const open = ['mqtt:tcp 127.0.0.1:1883'];
const firstApp = { id: 'admin', secret: 's3cret', file: '/d/api-secret' };

test('the banner says what is open to whom, in columns', () => {
  const ports = ['http:management *:8080', 'http:dashboard [2001:db8::1234:5678]:18083'];
  const lines = bannerLines(settings, '1.2.3', open, { ports, isPublic: true });
  assert.deepEqual(lines, [
    'broker 1.2.3 is running as broker@127.0.0.1',
    '  mqtt:tcp 127.0.0.1:1883                     credentials required',
    '  http:management *:8080                      REST API, for applications',
    '  http:dashboard [2001:db8::1234:5678]:18083  REST API, for users; CHANGE THE SHIPPED PASSWORD: bin/broker_ctl admins passwd admin <password>',
    `  data in ${settings.node.dataDir}`,
  ]);
});

test('the banner of a first start has the secret and a call that can be copied', () => {
  const told = (port: string): string[] =>
    bannerLines(settings, '1', open, { ports: [port], isPublic: false, firstApp }).slice(4);
  assert.deepEqual(told('http:management *:8080'), [
    '  REST API: application "admin" with the secret s3cret',
    '            shown this once; also in /d/api-secret',
    `            curl -u "$(cat '/d/api-secret')" http://127.0.0.1:8080/api/v3/nodes`,
    '            all it can do: http://127.0.0.1:8080/api/v3/docs',
  ]);
  assert.match(
    told('https:management 10.0.0.1:8081').join('\n'),
    /curl -k -u .* https:\/\/10\.0\.0\.1:8081\/api\/v3\/nodes$/m,
  );
});

test('the banner stands with no listener at all', () => {
  const none = { ...settings, listeners: [] };
  assert.deepEqual(bannerLines(none, '1', [], { ports: [], isPublic: false }), [
    'broker 1 is running as broker@127.0.0.1',
    `  data in ${settings.node.dataDir}`,
  ]);
});
