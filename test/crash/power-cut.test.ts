// The durability contract on a disk that is slow and forgets what was not flushed: nothing may be
// acknowledged before it is. What the process wrote and did not flush survives its death otherwise.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import test from 'node:test';
import { fuzzSeed } from '../fuzz/random.ts';
import { BrokerProcess } from './broker-under-test.ts';
import { crashRun } from './crash-run.ts';
import type { Violations } from './violations.ts';

const entry = join(import.meta.dirname, 'power-cut-broker.ts');

test('a broker keeps what it acknowledged when the power is cut', async (t) => {
  t.diagnostic(`FUZZ_SEED=${fuzzSeed}`);
  await using broker = new BrokerProcess({ entry });
  const { figures, failure } = await crashRun({ broker, seed: fuzzSeed, rounds: 12 });
  t.diagnostic(figures.line);
  if (failure !== undefined) assert.fail(failure);
  assert.ok(figures.kills > 0 && figures.acknowledged[1] > 0 && figures.acknowledged[2] > 0);
});

test('the crash run names what a broker loses that does not wait for the disk', async (t) => {
  t.diagnostic(`FUZZ_SEED=${fuzzSeed}`);
  const sets = ['zone.external.session_durability=async'];
  await using broker = new BrokerProcess({ entry, sets });
  const isEnough = (found: Violations): boolean => found.countOf('lost') > 0;
  const options = { broker, seed: fuzzSeed, rounds: 30, quietMs: 1000, isEnough };
  const { violations, failure = '' } = await crashRun(options);
  broker.isKept = false;
  assert.ok(isEnough(violations), failure);
});
