// Ten thousand clients that connect in the same moment: each is let in or turned away, none is left
// waiting, and the broker serves on. The real process with the shipped settings; the clients are
// processes too, because open files are counted by process.

import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { RawClient } from '#test/raw-client';
import { BrokerProcess, onlyListeners } from '../interop/broker-process.ts';
import type { BurstOutcome } from './burst-load.ts';

const loadFile = fileURLToPath(new URL('burst-load.ts', import.meta.url));
const wanted = 10_000;
const loads = 2;
const deadlineMs = 30_000;
/** Files that the broker needs besides connections. */
const otherFiles = 200;

/** Fewer than wanted where the system allows few open files. */
function connectionCount(): number {
  const limits = readFileSync('/proc/self/limits', 'latin1');
  const open = /^Max open files\s+(\d+|unlimited)/m.exec(limits)?.[1];
  return Math.min(wanted, Number(open?.replace('unlimited', 'Infinity')) - otherFiles);
}

async function burst(port: number, count: number): Promise<BurstOutcome> {
  const share = Math.floor(count / loads);
  const args = [port, share, deadlineMs].map(String);
  const children = Array.from({ length: loads }, () => fork(loadFile, args, { execArgv: [] }));
  const told = children.map(async (child) => (await once(child, 'message')) as [BurstOutcome]);
  const total: BurstOutcome = { accepted: 0, refused: 0, closed: 0, hanging: 0 };
  for (const [outcome] of await Promise.all(told)) {
    for (const key of Object.keys(total) as (keyof BurstOutcome)[]) total[key] += outcome[key];
  }
  await Promise.all(
    children.map(async (child) => {
      child.disconnect();
      await once(child, 'exit');
    }),
  );
  return total;
}

for (const [what, sets, accepted] of [
  ['as shipped', [], { least: 1000, most: wanted }],
  [
    'with a low rate',
    ['listener.tcp.external.max_conn_rate=500'],
    { least: 500, most: wanted - 1 },
  ],
] as const) {
  test(`a burst of connections is answered or closed, one and all, ${what}`, async (context) => {
    const count = connectionCount();
    await using broker = await BrokerProcess.start([...onlyListeners('tcp'), ...sets]);
    const port = broker.port('tcp');
    const { hanging, ...settled } = await burst(port, count);
    context.diagnostic(JSON.stringify(settled));
    assert.equal(hanging, 0, `${hanging} were neither answered nor closed`);
    const inAll = Math.floor(count / loads) * loads;
    assert.equal(settled.accepted + settled.refused + settled.closed, inAll);
    assert.ok(settled.accepted >= Math.min(accepted.least, inAll), JSON.stringify(settled));
    assert.ok(settled.accepted <= accepted.most, JSON.stringify(settled));
    await using newcomer = await RawClient.open(port, 4);
    assert.equal((await newcomer.connect({ clientId: 'after' })).reasonCode, 0);
  });
}
