import assert from 'node:assert/strict';
import test from 'node:test';
import { VirtualClock } from '#base/clock';
import { nullLogger } from '#base/log';
import { loadSettings } from '#config/load';
import type { SystemEntry } from '#observe/system-publisher';
import type { WorkersFace } from '#node/node-face';
import { SystemTopics } from './sys-topics.ts';

interface Bench {
  readonly clock: VirtualClock;
  readonly topics: SystemTopics;
  /** What was upheld, and what was published. */
  readonly upheld: SystemEntry[];
  readonly published: SystemEntry[];
  readonly pass: (ms: number) => Promise<void>;
}

function bench(publish: () => Promise<void> = async () => undefined): Bench {
  const clock = new VirtualClock(0);
  const upheld: SystemEntry[] = [];
  const published: SystemEntry[] = [];
  const workers = {
    uphold: async (_verb: string, [entries]: [SystemEntry[]]) => void upheld.push(...entries),
    anywhere: async (_verb: string, [entries]: [SystemEntry[]]) => {
      await publish();
      published.push(...entries);
    },
  } as unknown as WorkersFace;
  const settings = loadSettings({ sets: ['node.name=n@h'] });
  const topics = new SystemTopics({ workers, settings, clock, log: nullLogger });
  const node = {
    stats: () => ({ 'subscriptions/count': 3, 'subscriptions/max': 5 }),
    metrics: () => ({ 'bytes/sent': 17 }),
  };
  const plugins = {
    metrics: () => [{ plugin: 'p', name: 'rules.matched', help: '', value: 4 }],
    gauges: () => [{ plugin: 'p', name: 'rules', help: '', count: 1, max: 2 }],
  };
  topics.start({ node, plugins, version: '1.2.3', upMs: () => clock.monotonicMs() });
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { clock, topics, upheld, published, pass };
}

const lines = (entries: readonly SystemEntry[]): string[] =>
  entries.map(({ topic, payload, qos, retain }) => `${topic}=${payload} ${qos} ${retain}`);

test('the heartbeat comes every half minute, everything else every minute, not before', async () => {
  const { published, upheld, pass, topics } = bench();
  await pass(29_999);
  assert.equal(published.length, 0);
  await pass(1);
  assert.match(lines(published)[0] ?? '', /^\$SYS\/brokers\/n@h\/uptime=30 seconds 0 false$/);
  assert.match(lines(published)[1] ?? '', /^\$SYS\/brokers\/n@h\/datetime=\S+ \S+ 0 false$/);
  published.length = 0;
  await pass(29_999);
  assert.equal(published.length + upheld.length, 0);
  await pass(1);
  const retained = [
    '$SYS/brokers=n@h 0 true',
    '$SYS/brokers/n@h/version=v1.2.3 0 true',
    '$SYS/brokers/n@h/sysdescr=MQTT Broker 0 true',
  ];
  assert.deepEqual(lines(upheld), retained);
  const counts = lines(published.filter(({ topic }) => !topic.endsWith('time')));
  assert.deepEqual(counts, [
    ...retained,
    '$SYS/brokers/n@h/stats/subscriptions/count=3 0 false',
    '$SYS/brokers/n@h/stats/subscriptions/max=5 0 false',
    '$SYS/brokers/n@h/stats/rules/count=1 0 false',
    '$SYS/brokers/n@h/stats/rules/max=2 0 false',
    '$SYS/brokers/n@h/stats/suboptions/count=3 0 false',
    '$SYS/brokers/n@h/stats/suboptions/max=5 0 false',
    '$SYS/brokers/n@h/metrics/bytes/sent=17 0 false',
    '$SYS/brokers/n@h/metrics/rules/matched=4 0 false',
  ]);
  await topics[Symbol.asyncDispose]();
});

test('a round that fails does not keep the next one from coming', async () => {
  let isDown = true;
  const { published, pass, topics } = bench(async () => {
    if (isDown) throw new Error('no worker is up');
  });
  await pass(60_000);
  assert.equal(published.length, 0);
  isDown = false;
  topics.publish('alarms/clear', '{}');
  await pass(60_000);
  assert.ok(published.some(({ topic }) => topic === '$SYS/brokers/n@h/alarms/clear'));
  assert.ok(published.some(({ topic }) => topic === '$SYS/brokers'));
  await topics[Symbol.asyncDispose]();
});

test('when it is over no timer is left and what is under way has ended', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { clock, topics, published, pass } = bench(() => promise);
  await pass(30_000);
  let isOver = false;
  const ending = topics[Symbol.asyncDispose]().then(() => {
    isOver = true;
  });
  assert.equal(clock.timerCount, 0);
  await pass(0);
  assert.equal(isOver, false);
  resolve();
  await ending;
  assert.equal(published.length, 2);
});
