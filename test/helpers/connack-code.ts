// How a broker answers a CONNECT, as MQTT.js is told.

import mqtt from 'mqtt';
import type { Managed } from './managed.ts';

const deadlineMs = 10_000;

/** The code of the CONNACK, of MQTT 5 without a word. The client is gone afterwards. */
export async function connackCode(
  { mqttPort: port }: Pick<Managed, 'mqttPort'>,
  options: { readonly [F in keyof mqtt.IClientOptions]?: mqtt.IClientOptions[F] | undefined },
): Promise<number> {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  const client = mqtt.connect({
    host: '127.0.0.1',
    port,
    protocolVersion: 5,
    ...(Object.fromEntries(given) as mqtt.IClientOptions),
    reconnectPeriod: 0,
  });
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const late = setTimeout(() => reject(new Error('No CONNACK has come')), deadlineMs);
  client.once('connect', () => resolve(0));
  client.on('error', (error) => {
    const { code } = error as { readonly code?: unknown };
    if (typeof code === 'number') resolve(code);
    else reject(error);
  });
  try {
    return await promise;
  } finally {
    clearTimeout(late);
    await client.endAsync(true);
  }
}
