// What access rules cost: ten pairs in a broker with ten thousand rules, the last of which lets them
// publish, against the same broker without access control, in turns. Decisions are remembered as shipped.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { accepting, brokers } from '../brokers.ts';
import type { Load, Outcome, Target } from '../load.ts';
import { runClosedLoop, tenPairs } from '../traffic.ts';

const rules = 10_000;
const turns = 2;
const shapes = [tenPairs(0), tenPairs(1)] as const;

export const load: Load = {
  title: `10 pairs with ${rules} access rules, against none`,
  figures: ['plainCpuMicros', 'aclCpuMicros', 'aclPercent', 'aclAckedPercent'],
  bars: {
    aclPercent: { kind: 'atMost', bar: 10 },
    aclAckedPercent: { kind: 'atMost', bar: 10 },
  },
  brokers: ['ours'],
  launches: true,
  run,
};

async function run(target: Target): Promise<Outcome> {
  const directory = mkdtempSync(join(tmpdir(), 'bench-acl-'));
  const file = join(directory, 'acl.conf');
  writeFileSync(file, rulesText());
  const plain = ['zone.external.enable_acl=off'];
  const ruled = ['zone.external.enable_acl=on', `acl_file=${file}`];
  const totals = { plain: [new Total(), new Total()], ruled: [new Total(), new Total()] };
  try {
    for (let turn = 0; turn < turns; turn++) {
      for (const [i, shape] of shapes.entries()) {
        totals.plain[i]?.add(await measured(target, plain, shape));
        totals.ruled[i]?.add(await measured(target, ruled, shape));
      }
    }
  } finally {
    rmSync(directory, { recursive: true });
  }
  const [plain0, plain1] = totals.plain as [Total, Total];
  const [ruled0, ruled1] = totals.ruled as [Total, Total];
  const all = [plain0, plain1, ruled0, ruled1];
  return {
    figures: {
      plainCpuMicros: plain0.cpuMicros,
      aclCpuMicros: ruled0.cpuMicros,
      aclPercent: lossPercent(plain0.rate, ruled0.rate),
      aclAckedPercent: lossPercent(plain1.rate, ruled1.rate),
    },
    lost: all.reduce((sum, { lost }) => sum + lost, 0),
    extra: all.reduce((sum, { extra }) => sum + extra, 0),
    notes: all.flatMap(({ notes }) => notes),
  };
}

/** Rules of all kinds, none of which decides about this load, and one at the end that does. */
function rulesText(): string {
  const lines = Array.from({ length: rules - 1 }, (_, i) => {
    const kinds = [
      `{allow, {user, "user-${i}"}, pubsub, ["plant/${i}/#"]}.`,
      `{deny, {client, "client-${i}"}, publish, ["plant/+/${i}"]}.`,
      `{deny, all, subscribe, ["secret/${i}/#"]}.`,
      `{allow, {ipaddr, "10.${i % 256}.${(i >> 8) % 256}.0/24"}, pubsub, ["plant/#"]}.`,
    ];
    return kinds[i % kinds.length] ?? '';
  });
  return `${[...lines, '{allow, all}.'].join('\n')}\n`;
}

async function measured(
  target: Target,
  settings: readonly string[],
  shape: (typeof shapes)[number],
): Promise<Outcome> {
  const running = brokers.ours.launch(target.port, {
    settings: ['zone.external.max_inflight=0', ...settings, ...(target.settings ?? [])],
    mosquittoNodelay: false,
  });
  try {
    await accepting(target.port, running);
    return await runClosedLoop(shape, { ...target, pid: running.pid });
  } finally {
    await running.stop();
  }
}

/** Means over the turns. */
class Total {
  readonly notes: string[] = [];
  lost = 0;
  extra = 0;
  #rate = 0;
  #cpuMicros = 0;
  #turns = 0;

  add({ figures, lost, extra, notes }: Outcome): void {
    this.#rate += figures.messagesPerSecond ?? 0;
    this.#cpuMicros += figures.cpuMicros ?? 0;
    this.#turns++;
    this.lost += lost;
    this.extra += extra;
    this.notes.push(...notes);
  }

  get rate(): number {
    return this.#rate / this.#turns;
  }

  get cpuMicros(): number {
    return this.#cpuMicros / this.#turns;
  }
}

function lossPercent(without: number, having: number): number {
  return (1 - having / without) * 100;
}
