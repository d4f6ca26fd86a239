// A worker dies and the node goes on, or ends with a reason. What becomes of messages meanwhile the
// driver finds out: `npm run test:crash -- --deaths N`.

import assert from 'node:assert/strict';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { Watch } from '#test/watch';
import { fuzzSeed } from '../fuzz/random.ts';
import { BrokerProcess } from './broker-under-test.ts';
import { deathRun, mortalBroker } from './death-run.ts';
import { Link } from './link.ts';

const eventMsMax = 30_000;

/** What a broker says, line by line, and a wait for one of them. */
class Told {
  readonly lines: string[] = [];
  readonly #watch: Watch = new Watch();

  constructor(broker: BrokerProcess) {
    broker.onLine = (line) => {
      this.lines.push(line);
      this.#watch.wake();
    };
  }

  async until(event: string, words = ''): Promise<string> {
    const look = (): string | undefined =>
      this.lines.find((line) => line.includes(`"${event}"`) && line.includes(words));
    const late = (): Error => new Error(`Cannot find ${event} in:\n${this.lines.join('\n')}`);
    return await this.#watch.until(look, eventMsMax, late);
  }
}

/** Resolves when the broker has answered CONNECT. */
function connected(port: number): Promise<Link> {
  const { promise, resolve, reject } = Promise.withResolvers<Link>();
  const link = new Link(port, 4, {
    onPacket: ({ type }) => {
      if (type === 'connack') resolve(link);
    },
    onClosed: () => reject(new Error('Cannot connect: the connection was closed')),
  });
  const connect = { type: 'connect', version: 4, isBridge: false, cleanStart: true } as const;
  link.send({ ...connect, keepaliveSeconds: 0, clientId: '', properties: {} });
  return promise;
}

test('a node keeps what it acknowledged when its workers die', async (t) => {
  t.diagnostic(`FUZZ_SEED=${fuzzSeed}`);
  await using broker = mortalBroker(3);
  const { figures, failure } = await deathRun({ broker, seed: fuzzSeed, rounds: 8, workers: 3 });
  t.diagnostic(figures.line);
  if (failure !== undefined) assert.fail(failure);
});

test('a node outlives a worker whose memory is full, and says so by an alarm', async () => {
  // The heap of a worker may be as large as that of the process.
  await using broker = mortalBroker(2, [], { NODE_OPTIONS: '--max-old-space-size=96' });
  const faults: string[] = [];
  broker.onFault = (line) => faults.push(line);
  const told = new Told(broker);
  await broker.start();
  const { pid, port = 0 } = broker;
  broker.say('die 1 memory');
  assert.match(await told.until('worker.died'), /"worker":1,"error":".*memory/i);
  await told.until('alarm.raised');
  await told.until('worker.restarted');
  (await connected(port)).cut();
  assert.equal(broker.pid, pid);
  assert.deepEqual(faults, []);
  assert.equal(await broker.stop(), 0);
});

test('a node ends with an error when its workers die too often', async () => {
  await using broker = mortalBroker(2);
  const told = new Told(broker);
  const faults: string[] = [];
  broker.onFault = (line) => faults.push(line);
  await broker.start();
  for (let deaths = 1; deaths <= 6; deaths++) {
    told.lines.length = 0;
    broker.say(`die ${deaths % 2} exit`);
    if (deaths <= 5) await told.until('worker.restarted');
  }
  await broker.ended();
  assert.equal(broker.exitCode, 1);
  assert.match(faults.join('\n'), /Cannot go on: workers died 6 times in a minute/);
});

test('a node whose workers die at every start does not start, and says why', async () => {
  const entry = fileURLToPath(new URL('./stillborn-broker.ts', import.meta.url));
  await using broker = new BrokerProcess({ entry, sets: ['node.workers=2'] });
  const faults: string[] = [];
  broker.onFault = (line) => faults.push(line);
  await assert.rejects(broker.start(), /ended by code 1 before it listened/);
  assert.match(faults.join('\n'), /stderr: .*Died at the start/);
});

test('a worker that dies while its neighbour is being replaced does not hold that one up', async () => {
  await using broker = mortalBroker(3);
  const told = new Told(broker);
  await broker.start();
  broker.say('die 1 greeting');
  broker.say('die 0 exit');
  await told.until('worker.restarted', '"worker":0');
  await told.until('worker.restarted', '"worker":1');
  assert.equal(await broker.stop(), 0);
});

test('a node stops in order while a dead worker is being replaced', async () => {
  await using broker = mortalBroker(3);
  const told = new Told(broker);
  const faults: string[] = [];
  broker.onFault = (line) => faults.push(line);
  await broker.start();
  broker.say('die 2 throw');
  await told.until('worker.died');
  assert.equal(await broker.stop(), 0);
  assert.deepEqual(faults, []);
});
