// MQTT 5.0 sections 3.12 and 3.13: PINGREQ and PINGRESP.

import assert from 'node:assert/strict';
import test from 'node:test';
import { startBroker } from '#test/broker';
import { packet } from '#test/raw-bytes';

test('[MQTT-3.12.4-1] every PINGREQ is answered by a PINGRESP', async () => {
  await using broker = await startBroker();
  for (const version of [3, 4, 5] as const) {
    const client = await broker.connect({ version });
    client.send(Buffer.concat([packet(0xc0), packet(0xc0), packet(0xc0)]));
    for (let i = 0; i < 3; i++) assert.deepEqual(await client.nextBytes(), packet(0xd0));
  }
});

test('a PINGREQ with a body is malformed', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  client.send(packet(0xc0, 0));
  await client.expectDisconnected(0x81);
});
