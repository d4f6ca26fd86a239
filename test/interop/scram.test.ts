// MQTT.js authenticates by SCRAM-SHA-256; the mechanism is the test's, the packets are MQTT.js'. The
// broker runs in this process, because what knows the users is a hook.

import assert from 'node:assert/strict';
import test from 'node:test';
import mqtt, { type IClientOptions, type IConnackPacket, type MqttClient } from 'mqtt';
import { makeScramCredential } from '#access/scram';
import { scramAuth, scramMethod } from '#access/scram-auth';
import { startBroker, type TestBroker } from '#test/broker';
import { ScramClient } from '#test/scram-client';
import { urlOf } from './outside-client.ts';

type AuthPacket = Parameters<MqttClient['handleAuth']>[0];

const users = new Map([['ann', makeScramCredential('apple')]]);

async function startScram(): Promise<TestBroker> {
  const broker = await startBroker({ zone: { allowAnonymous: false } });
  const listener = scramAuth((name) => users.get(name), { decoyKey: Buffer.alloc(32, 1) });
  broker.broker.hooks.on('client.enhanced_auth', 'test', listener);
  return broker;
}

interface Attempt {
  readonly client: MqttClient;
  readonly scram: ScramClient;
  /** Rejects when the server refuses. */
  readonly connack: Promise<IConnackPacket>;
}

function connect(broker: TestBroker, password: string, isFirstInConnect: boolean): Attempt {
  const scram = new ScramClient('ann', password);
  const options: IClientOptions = {
    protocolVersion: 5,
    reconnectPeriod: 0,
    manualConnect: true,
    properties: {
      authenticationMethod: scramMethod,
      ...(isFirstInConnect && { authenticationData: scram.first() }),
    },
  };
  const client = mqtt.connect(urlOf('tcp', broker.port), options);
  client.handleAuth = (packet, callback) => callback(undefined, reply(packet, scram));
  const { promise, resolve, reject } = Promise.withResolvers<IConnackPacket>();
  client.once('connect', resolve);
  client.on('error', reject);
  client.connect();
  return { client, scram, connack: promise };
}

function reply({ properties }: AuthPacket, scram: ScramClient): AuthPacket {
  const said = properties?.authenticationData;
  return {
    cmd: 'auth',
    reasonCode: 0x18,
    properties: {
      authenticationMethod: scramMethod,
      authenticationData: said === undefined ? scram.first() : scram.final(said),
    },
  };
}

for (const isFirstInConnect of [true, false]) {
  const where = isFirstInConnect ? 'CONNECT' : 'AUTH';

  test(`MQTT.js is let in by SCRAM that begins in ${where}, and works`, async () => {
    await using broker = await startScram();
    const { client, scram, connack } = connect(broker, 'apple', isFirstInConnect);
    await using _ = { [Symbol.asyncDispose]: () => client.endAsync(true) };
    const { properties } = await connack;
    assert.equal(properties?.authenticationMethod, scramMethod);
    scram.expectProof(properties?.authenticationData);
    const message = new Promise<string>((resolve) => {
      client.on('message', (_topic, payload) => resolve(payload.toString()));
    });
    await client.subscribeAsync('t', { qos: 1 });
    await client.publishAsync('t', 'hello', { qos: 1 });
    assert.equal(await message, 'hello');
  });

  test(`MQTT.js is refused by SCRAM that begins in ${where} with a wrong password`, async () => {
    await using broker = await startScram();
    const { client, connack } = connect(broker, 'wrong', isFirstInConnect);
    await using _ = { [Symbol.asyncDispose]: () => client.endAsync(true) };
    await assert.rejects(connack, { code: 0x86 });
  });
}
