// Sends the figures of the node at intervals. Laws: never more than one push is under way, and none takes
// longer than its time; a target that fails is told in the log when that begins and when it ends, and
// costs the other one nothing.

import { createSocket, type Socket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { type ControlContext, type ControlPart, describeError } from '#sdk';
import type { StatsdSettings, UdpTarget } from './config.ts';
import { pushAddress, pushText } from './push-text.ts';
import { datagramsOf, StatsdLines } from './statsd-lines.ts';

type Context = ControlContext<StatsdSettings>;

const pushMsMax = 10_000;

const part: ControlPart<StatsdSettings> = (context) => {
  const { gateway, udp, intervalMs } = context.settings;
  if (gateway === undefined && udp === undefined) {
    throw new Error(
      'Cannot send figures: neither statsd.push.gateway.server nor statsd.udp.server is set',
    );
  }
  const targets = [
    ...(gateway === undefined ? [] : [gatewayTarget(context, gateway)]),
    ...(udp === undefined ? [] : [udpTarget(context, udp)]),
  ];
  // Each by itself: one that hangs does not hold up the other.
  for (const target of targets) {
    context.every(intervalMs, () => (isReady(context) ? target.send() : undefined));
  }
};

export default part;

/** Plugins are started before there is a node to read figures of. */
function isReady({ figures }: Context): boolean {
  return Object.keys(figures.metrics()).length > 0;
}

/** Somebody who is sent figures, and how that goes. */
class Target {
  readonly #context: Context;
  readonly #name: 'push' | 'udp';
  readonly #where: string;
  readonly #deliver: () => Promise<void>;
  #isFailing = false;

  constructor(context: Context, name: 'push' | 'udp', where: string, deliver: () => Promise<void>) {
    this.#context = context;
    this.#name = name;
    this.#where = where;
    this.#deliver = deliver;
  }

  async send(): Promise<void> {
    const { log, signal } = this.#context;
    const server = this.#where;
    try {
      await this.#deliver();
      this.#context.count(`statsd.${this.#name}.success`);
      if (this.#isFailing) log.info(`statsd.${this.#name}.recovered`, { server });
      this.#isFailing = false;
    } catch (error) {
      if (signal.aborted) return;
      this.#context.count(`statsd.${this.#name}.failure`);
      if (!this.#isFailing) {
        log.warn(`statsd.${this.#name}.failed`, { server, error: describeError(error) });
      }
      this.#isFailing = true;
    }
  }
}

function gatewayTarget(context: Context, gateway: string): Target {
  const { figures, signal, nodeName } = context;
  const address = pushAddress(gateway, nodeName);
  return new Target(context, 'push', gateway, async () => {
    const scraped = await figures.prometheus();
    const body = pushText({ scraped, metrics: figures.metrics(), stats: figures.stats() });
    const response = await fetch(address, {
      method: 'POST',
      headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' },
      body,
      // A gateway is where the configuration says and nowhere else.
      redirect: 'error',
      signal: AbortSignal.any([signal, AbortSignal.timeout(pushMsMax)]),
    });
    await response.body?.cancel();
    if (!response.ok) throw new Error(`Cannot push: found status ${response.status}, want 2xx`);
  });
}

function udpTarget(context: Context, target: UdpTarget): Target {
  const { figures } = context;
  const lines = new StatsdLines(target.prefix, figures.metrics());
  return new Target(context, 'udp', `${target.host}:${target.port}`, async () => {
    const metrics = figures.metrics();
    await sendAll(target, datagramsOf(lines.lines(metrics, figures.stats())));
    lines.sent(metrics);
  });
}

/** The name is looked up each time: servers move. */
async function sendAll({ host, port }: UdpTarget, datagrams: readonly Buffer[]): Promise<void> {
  const { address, family } = await lookup(host);
  const socket = createSocket(family === 6 ? 'udp6' : 'udp4');
  const failed = Promise.withResolvers<never>();
  socket.on('error', failed.reject);
  try {
    const sent = datagrams.map((datagram) => send(socket, datagram, port, address));
    await Promise.race([Promise.all(sent), failed.promise]);
  } finally {
    socket.close();
  }
}

function send(socket: Socket, datagram: Buffer, port: number, address: string): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.send(datagram, port, address, (error) => (error === null ? resolve() : reject(error)));
  });
}
