import assert from 'node:assert/strict';
import test, { after, before, describe } from 'node:test';
import { BrokerProcess, onlyListeners } from './broker-process.ts';
import { OutsideClient } from './outside-client.ts';
import { Program, runToEnd, toolOf } from './outside-program.ts';

const curl = toolOf('curl');
const { skip } = curl;

let broker: BrokerProcess;

before(async () => {
  if (!skip) broker = await BrokerProcess.start(onlyListeners('tcp', 'ws', 'wss'));
});
after(() => broker?.[Symbol.asyncDispose]());

describe('curl', { skip }, () => {
  test('publishes and subscribes as an MQTT client', async () => {
    const url = `mqtt://127.0.0.1:${broker.port('tcp')}`;
    await using client = await OutsideClient.open(url);
    await client.subscribe('curl/up', { qos: 0 });
    const sent = await runToEnd(curl.path, ['-sS', '-d', 'from curl', `${url}/curl/up`]);
    assert.deepEqual([sent.code, sent.err], [0, '']);
    assert.deepEqual(await client.payloads(1), ['from curl']);

    await client.publish('curl/down', 'to curl', { qos: 1, retain: true });
    await using reader = new Program(curl.path, ['-sS', '-N', `${url}/curl/down`]);
    // It prints the topic as well, as it stood on the wire.
    assert.match(await reader.output('curl/down'.length + 'to curl'.length), /curl\/downto curl$/);
  });

  test('is upgraded on the path of MQTT with a subprotocol of MQTT, and refused otherwise', async () => {
    for (const kind of ['ws', 'wss'] as const) {
      for (const protocol of ['mqtt', 'mqttv3.1', 'mqttv3.1.1']) {
        const head = await upgrade(kind, '/mqtt', protocol);
        assert.match(head, /^HTTP\/1\.1 101 /);
        assert.match(head, new RegExp(`^sec-websocket-protocol: ${protocol}$`, 'im'));
        // The answer to the key that RFC 6455 1.3 uses as its example.
        assert.match(head, /^sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=$/im);
      }
      assert.match(await upgrade(kind, '/other', 'mqtt'), /^HTTP\/1\.1 4\d\d /);
      assert.match(await upgrade(kind, '/mqtt', 'chat'), /^HTTP\/1\.1 4\d\d /);
    }
  });

  test('is told by HTTP that this is no web server', async () => {
    const url = `http://127.0.0.1:${broker.port('ws')}/mqtt`;
    const { out } = await runToEnd(curl.path, [
      '-sS',
      '-o',
      '/dev/null',
      '-w',
      '%{http_code}',
      url,
    ]);
    assert.match(out, /^4\d\d$/);
  });
});

/** The head of the answer to an upgrade; curl would wait for the end of the connection. */
async function upgrade(kind: 'ws' | 'wss', path: string, protocol: string): Promise<string> {
  const headers = [
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    `Sec-WebSocket-Protocol: ${protocol}`,
  ].flatMap((header) => ['-H', header]);
  const origin = `${kind === 'ws' ? 'http' : 'https'}://127.0.0.1:${broker.port(kind)}`;
  const trust = kind === 'ws' ? [] : ['--cacert', broker.place.certFile];
  // Told to stderr, where curl does not wait until it has more to print.
  const args = ['-sv', '--http1.1', ...trust, ...headers, origin + path];
  await using program = new Program(curl.path, args);
  await program.errorLines.take('the end of the head', (line) => line.trim() === '<');
  const told = program.err.matchAll(/^< (.*?)\r?$/gm);
  return [...told].map(([, line]) => line).join('\n');
}
