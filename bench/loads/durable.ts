// QoS 1 to sessions that outlive their connection, everything on disk: what an acknowledgement costs
// with the sessions there and away, how long it takes at half of that rate, and what it is worth when
// the process is killed in the middle of it.

import { setTimeout as delay } from 'node:timers/promises';
import { DurableStage } from '../durable-stage.ts';
import type { BrokerName, Load, Outcome, Target } from '../load.ts';

const killedAfterSeconds = 2;

export const load: Load = {
  title: '10 publishers → 10 persistent sessions, QoS 1, on disk',
  figures: [
    'ackedPerSecond',
    'ackedCpuMicros',
    'ackedP50Ms',
    'ackedP99Ms',
    'queuedPerSecond',
    'queuedCpuMicros',
    'queuedP50Ms',
    'queuedP99Ms',
    'lostByKill',
  ],
  bars: {
    ackedPerSecond: { kind: 'atLeast', bar: 50_000, reach: 150_000 },
    ackedP99Ms: { kind: 'atMost', bar: 30 },
    queuedPerSecond: { kind: 'atLeast', bar: 50_000, reach: 150_000 },
    queuedP99Ms: { kind: 'atMost', bar: 30 },
    lostByKill: { kind: 'atMost', bar: 0 },
  },
  roundsMax: 3,
  launches: true,
  overheadSeconds: 240,
  run,
};

async function run({ broker, seconds }: Target): Promise<Outcome> {
  const there = await runPhase(broker, seconds, true);
  const away = await runPhase(broker, seconds, false);
  const killed = await killInTheMiddle(broker, false);
  const notes = [...there.notes, ...away.notes, ...killed.notes];
  if (broker === 'mosquitto') notes.push(...(await eachChangeWritten()));
  // Mosquitto does not promise to keep what it acknowledged; ours does.
  const lostByKill = broker === 'ours' ? killed.lost : 0;
  return {
    figures: {
      ackedPerSecond: there.perSecond,
      ackedCpuMicros: there.cpuMicros,
      ackedP50Ms: there.p50Ms,
      ackedP99Ms: there.p99Ms,
      queuedPerSecond: away.perSecond,
      queuedCpuMicros: away.cpuMicros,
      queuedP50Ms: away.p50Ms,
      queuedP99Ms: away.p99Ms,
      lostByKill: killed.lost,
    },
    lost: there.lost + away.lost + lostByKill,
    extra: there.extra + away.extra,
    notes: [...new Set(notes)],
  };
}

interface Phase extends Record<'perSecond' | 'cpuMicros' | 'p50Ms' | 'p99Ms', number> {
  readonly lost: number;
  readonly extra: number;
  readonly notes: readonly string[];
}

/** The rate, then the latency at half of it; at last everybody gets what is theirs. */
async function runPhase(broker: BrokerName, seconds: number, areThere: boolean): Promise<Phase> {
  await using stage = new DurableStage(broker);
  await stage.start();
  await stage.openSessions(areThere);
  await stage.openPublishers();
  const { perSecond, cpuMicros, notes } = await stage.saturate(seconds, areThere);
  const isKept = await stage.pace(perSecond / 2, Math.max(3, seconds));
  const [p50Ms, p99Ms] = [stage.latency.quantile(0.5), stage.latency.quantile(0.99)];
  if (!areThere) await stage.resumeSessions();
  const phase = areThere ? 'sessions there' : 'sessions away';
  const late = isKept ? [] : [`${phase}: half of the rate was not kept`];
  const all = [...notes.map((note) => `${phase}: ${note}`), ...late, ...disorderIn(stage)];
  return { perSecond, cpuMicros, p50Ms, p99Ms, ...balance(stage), notes: all };
}

/** Acknowledged messages that no session has after a crash and a start. */
async function killInTheMiddle(
  broker: BrokerName,
  onChanges: boolean,
): Promise<{ lost: number; perSecond: number; notes: string[] }> {
  await using stage = new DurableStage(broker, onChanges);
  await stage.start();
  await stage.openSessions(false);
  await stage.openPublishers();
  const begin = performance.now();
  const stop = stage.flood(false);
  await delay(killedAfterSeconds * 1000);
  const perSecond = stage.acked / ((performance.now() - begin) / 1000);
  await stage.kill();
  stop();
  await stage.start();
  await stage.resumeSessions();
  const { lost } = balance(stage);
  return { lost, perSecond, notes: [`killed after ${stage.acked} PUBACKs: ${lost} of them lost`] };
}

async function eachChangeWritten(): Promise<string[]> {
  const { lost, perSecond } = await killInTheMiddle('mosquitto', true);
  const rate = Math.round(perSecond);
  return [`with autosave_on_changes true: ${rate} PUBACKs/s, ${lost} lost by kill -9`];
}

/** Acknowledged and missing; got and never sent, or got twice. */
function balance({ publishers, inboxes }: DurableStage): { lost: number; extra: number } {
  let lost = 0;
  let extra = 0;
  for (const [index, { acked, sent }] of publishers.entries()) {
    const inbox = inboxes[index]!; // one for each pair
    lost += inbox.missingOf(acked);
    extra += Math.max(0, inbox.received - sent);
  }
  return { lost, extra };
}

function disorderIn({ publishers }: DurableStage): string[] {
  const disordered = publishers.reduce((sum, publisher) => sum + publisher.disordered, 0);
  return disordered === 0 ? [] : [`${disordered} PUBACKs out of order`];
}
