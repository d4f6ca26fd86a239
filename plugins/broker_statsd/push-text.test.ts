import assert from 'node:assert/strict';
import test from 'node:test';
import { pushAddress, pushText } from './push-text.ts';

test('the text has every family once, under its own name and under the one it always had', () => {
  const scraped =
    '# HELP broker_connections_max m\n# TYPE broker_connections_max gauge\nbroker_connections_max 9\n';
  const text = pushText({
    scraped,
    metrics: { 'packets/connect': 2, 'messages/retained': 4, 'auth/http/success': 1 },
    stats: { 'connections/count': 3, 'connections/max': 9, 'sessions/persistent/count': 1 },
  });
  assert.ok(text.startsWith(scraped));
  assert.match(text, /^# TYPE broker_packets_connect counter\nbroker_packets_connect 2$/m);
  assert.match(text, /^# TYPE broker_messages_retained gauge\nbroker_messages_retained 4$/m);
  assert.match(text, /^# TYPE broker_connections_count gauge\nbroker_connections_count 3$/m);
  assert.match(text, /^broker_topics_max 0$/m);
  assert.equal(text.match(/^# TYPE broker_connections_max /gm)?.length, 1);
  assert.ok(!text.includes('auth'), 'plugins have one name only');
  assert.ok(!text.includes('persistent'));
});

test('a node is pushed under its name and its place', () => {
  assert.equal(
    pushAddress('http://h:9091', 'broker@127.0.0.1'),
    'http://h:9091/metrics/job/broker/instance/broker~127.0.0.1',
  );
  assert.equal(pushAddress('http://h', 'a/b'), 'http://h/metrics/job/a%2Fb/instance/a%2Fb');
});
