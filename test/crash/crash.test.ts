// The durability contract against the real process: acknowledged means that it is still so after
// SIGKILL. FUZZ_SEED repeats the choices of a run (the moments of the machine differ);
// `npm run test:crash` does many rounds.

import assert from 'node:assert/strict';
import test from 'node:test';
import { fuzzSeed } from '../fuzz/random.ts';
import { BrokerProcess } from './broker-under-test.ts';
import { crashRun } from './crash-run.ts';
import { CutOffBroker } from './cut-off-broker.ts';
import type { Violations } from './violations.ts';

test('a broker keeps what it acknowledged, however often its process is killed', async (t) => {
  t.diagnostic(`FUZZ_SEED=${fuzzSeed}`);
  await using broker = new BrokerProcess();
  const { figures, failure } = await crashRun({ broker, seed: fuzzSeed, rounds: 20 });
  t.diagnostic(figures.line);
  if (failure !== undefined) assert.fail(failure);
  assert.ok(figures.kills > 0 && figures.acknowledged[1] > 0 && figures.acknowledged[2] > 0);
});

test('a broker keeps what it acknowledged when all connections are cut', async (t) => {
  t.diagnostic(`FUZZ_SEED=${fuzzSeed}`);
  await using broker = new CutOffBroker(new BrokerProcess());
  const { figures, failure } = await crashRun({ broker, seed: fuzzSeed, rounds: 10 });
  t.diagnostic(figures.line);
  if (failure !== undefined) assert.fail(failure);
});

test('the crash run names what a broker forgets that keeps sessions in memory only', async (t) => {
  t.diagnostic(`FUZZ_SEED=${fuzzSeed}`);
  await using broker = new BrokerProcess({ sets: ['zone.external.session_durability=memory'] });
  const isEnough = (found: Violations): boolean =>
    found.countOf('forgotten') > 0 && found.countOf('lost') > 0;
  const options = { broker, seed: fuzzSeed, rounds: 20, quietMs: 1000, isEnough };
  const { violations, failure = '' } = await crashRun(options);
  broker.isKept = false;
  assert.ok(isEnough(violations), failure);
  assert.match(failure, /forgotten: the session of/);
  assert.match(failure, /lost: ".+" never got \d+ acknowledged of QoS/);
});
