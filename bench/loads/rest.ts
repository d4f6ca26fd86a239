// What reading by REST costs the clients: a stream of 100 000 messages a second beside 200 requests a
// second over a thousand connections, compared with the same stream alone, in turns.

import { setTimeout as delay } from 'node:timers/promises';
import { accepting, brokers, freePort } from '../brokers.ts';
import { Client, openAll } from '../client.ts';
import { threadMicros } from '../cpu.ts';
import { Latency } from '../latency.ts';
import type { Load, Outcome, Target } from '../load.ts';
import { PacedPair } from '../paced-pair.ts';
import { Requests } from '../requests.ts';

const messageRate = 100_000;
const requestRate = 200;
const connections = 1000;
const turns = 2;
const settleMs = 500;
const secret = 'only-for-this-run';

export const load: Load = {
  title: `${messageRate / 1000} k messages/s beside ${requestRate} requests/s over ${connections} connections`,
  figures: [
    'calmCpuMicros',
    'restCpuMicros',
    'restPercent',
    'calmP50Ms',
    'restP50Ms',
    'restP50Times',
    'calmP99Ms',
    'restP99Ms',
    'requestsPerSecond',
    'requestP99Ms',
  ],
  bars: { restPercent: { kind: 'atMost', bar: 10 } },
  brokers: ['ours'],
  launches: true,
  run,
};

async function run(target: Target): Promise<Outcome> {
  const httpPort = await freePort();
  const running = brokers.ours.launch(target.port, {
    settings: [
      'node.workers=1',
      `management.listener.http=127.0.0.1:${httpPort}`,
      `management.default_application.secret=${secret}`,
      ...(target.settings ?? []),
    ],
    mosquittoNodelay: false,
  });
  try {
    await accepting(target.port, running);
    await accepting(httpPort, running);
    return await observe({ ...target, pid: running.pid }, httpPort);
  } finally {
    await running.stop();
  }
}

async function observe({ port, pid, seconds }: Target, httpPort: number): Promise<Outcome> {
  const others = await openAll(connections, (i) => Client.open(port, `bench-other-${i}`));
  const stream = await PacedPair.open(port, {
    name: 'stream',
    rate: messageRate,
    isEachTimed: false,
  });
  const requests = new Requests(httpPort, `admin:${secret}`, ['bench-other-1', 'bench-other-999']);
  const calm = new Phase(pid, stream);
  const beside = new Phase(pid, stream);
  await requests.warmUp();
  await delay(settleMs);
  for (let turn = 0; turn < turns; turn++) {
    await calm.span(seconds);
    requests.start(requestRate);
    await delay(settleMs);
    await beside.span(seconds);
    await requests.stop();
  }
  const missing = await stream.end();
  await Promise.all(others.map((client) => client.disconnect()));
  return {
    figures: {
      calmCpuMicros: calm.cpuMicros,
      restCpuMicros: beside.cpuMicros,
      // A microsecond per message at this rate is a tenth of a core.
      restPercent: ((beside.cpuMicros - calm.cpuMicros) * messageRate) / 10_000,
      calmP50Ms: calm.latency.quantile(0.5),
      restP50Ms: beside.latency.quantile(0.5),
      restP50Times: beside.latency.quantile(0.5) / calm.latency.quantile(0.5),
      calmP99Ms: calm.latency.quantile(0.99),
      restP99Ms: beside.latency.quantile(0.99),
      requestsPerSecond: requests.rate,
      requestP99Ms: requests.latency.quantile(0.99),
    },
    lost: Math.max(0, missing),
    extra: Math.max(0, -missing),
    notes: requests.failed === 0 ? [] : [`${requests.failed} requests failed`],
  };
}

/** What the worker took for each message, over all spans of one kind. */
class Phase {
  readonly latency = new Latency();
  readonly #pid: number;
  readonly #stream: PacedPair;
  #micros = 0;
  #messages = 0;

  constructor(pid: number, stream: PacedPair) {
    this.#pid = pid;
    this.#stream = stream;
  }

  async span(seconds: number): Promise<void> {
    const [micros, messages] = [threadMicros(this.#pid, 'worker 0'), this.#stream.sent];
    this.#stream.latency = this.latency;
    await delay(seconds * 1000);
    this.#micros += threadMicros(this.#pid, 'worker 0') - micros;
    this.#messages += this.#stream.sent - messages;
  }

  get cpuMicros(): number {
    return this.#micros / this.#messages;
  }
}
