// Connections that come, are accepted, and go: CONNECT, CONNACK, DISCONNECT, closed by the broker.

import { Client } from '../client.ts';
import type { Load } from '../load.ts';
import { measure } from '../measure.ts';

const concurrency = 100;

export const load: Load = {
  title: `connect, CONNACK, disconnect; ${concurrency} at once`,
  figures: ['connectionsPerSecond', 'cpuMicros'],
  bars: {},
  settings: ['listener.tcp.external.max_conn_rate=0'],
  async run(target) {
    let finished = 0;
    let started = 0;
    let running = true;
    const lane = async (): Promise<void> => {
      while (running) {
        const client = await Client.open(target.port, `bench-connect-${started++}`);
        await client.disconnect();
        finished++;
      }
    };
    const lanes = Promise.all(Array.from({ length: concurrency }, lane));
    const plan = { pid: target.pid, seconds: target.seconds, warmUpSeconds: 1 };
    const connections = (): number => finished;
    const measured = measure({ ...plan, count: connections, work: connections });
    // A lane ends early only by failing; then there is nothing to measure.
    await Promise.race([measured, lanes]);
    running = false;
    await lanes;
    const span = await measured;
    return {
      figures: { connectionsPerSecond: span.perSecond, cpuMicros: span.cpuMicros },
      lost: 0,
      extra: 0,
      notes: span.notes,
      busy: span.busy,
    };
  },
};
