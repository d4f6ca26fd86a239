// Presence: a message under `$SYS` each time a client has connected or disconnected, published by the
// worker that serves the client. Law: a client that was not let in was never present.

import type { QoS } from '#wire/packet';
import { topicNameFault } from '#topics/topic';
import type { ClientInfo } from '#hooks/table';
import type { Core } from '#core/context';
import { isWanted, publishSystem } from './system-publisher.ts';

const owner = 'presence';

/** From now on with this QoS; undefined: no longer. */
export function tellPresence(core: Core, qos: QoS | undefined): void {
  const { hooks } = core;
  hooks.off(owner);
  if (qos === undefined) return;
  hooks.on('client.connected', owner, (client, reasonCode) => {
    if (reasonCode === 0) tell(core, client, 'connected', qos, connectedFields);
  });
  hooks.on('client.disconnected', owner, (client, reason) => {
    tell(core, client, 'disconnected', qos, (it, ts) => ({ ...nameOf(it), reason, ts }));
  });
}

type Fields = (client: ClientInfo, ts: number) => object;

function tell(
  core: Core,
  client: ClientInfo,
  event: 'connected' | 'disconnected',
  qos: QoS,
  fields: Fields,
): void {
  const { name } = core.settings.node;
  const topic = `$SYS/brokers/${name}/clients/${levelsOf(client.clientId)}/${event}`;
  // Nearly always nobody listens: then nothing is written either.
  if (!isWanted(core, topic) || topicNameFault(topic) !== undefined) return;
  const payload = JSON.stringify(fields(client, Math.floor(core.clock.nowMs() / 1000)));
  publishSystem(core, { topic, payload, qos, retain: false });
}

function connectedFields(client: ClientInfo, ts: number): object {
  return {
    ...nameOf(client),
    ipaddress: client.address,
    connack: 0,
    ts,
    proto_ver: client.version,
    proto_name: client.protocolName,
    clean_start: client.cleanStart,
    keepalive: client.keepaliveSeconds,
  };
}

/** The texts that readers know. */
function nameOf({ clientId, username }: ClientInfo): { clientid: string; username: string } {
  return { clientid: clientId, username: username ?? 'undefined' };
}

/** A client id may have characters that a topic name may not; the payload has it as it is. */
function levelsOf(clientId: string): string {
  return clientId.replaceAll('+', '%2B').replaceAll('#', '%23');
}
