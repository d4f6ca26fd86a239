import assert from 'node:assert/strict';
import test from 'node:test';
import { VirtualClock } from '#base/clock';
import { createLog } from '#base/log';
import type { Ban, BanName } from '#access/banned';
import { DurableStore } from '#store/durable-store';
import type { WorkersFace } from '#node/node-face';
import { SlowEngine } from '#test/slow-engine';
import { type BanEntry, Bans } from './bans.ts';

const log = createLog('error', []);

/** A list with a store, a clock, and workers that write down what they are told. */
class Bench implements Disposable {
  readonly clock: VirtualClock = new VirtualClock();
  readonly engine: SlowEngine = new SlowEngine();
  readonly told: string[] = [];
  bans: Bans;
  /** What a worker that comes now is told. */
  whole: () => readonly Ban[] = () => [];

  constructor() {
    this.bans = this.open();
  }

  /** As after a restart. */
  open(entriesMax?: number): Bans {
    const { clock, engine } = this;
    const records = new DurableStore(engine, { clock });
    const limit = entriesMax === undefined ? {} : { entriesMax };
    this.bans?.[Symbol.dispose]();
    this.bans = new Bans({ workers: this.#workers(), records, clock, log, ...limit });
    return this.bans;
  }

  #workers(): WorkersFace {
    const face: Partial<WorkersFace> = {
      uphold: async (_verb, args) => {
        this.whole = () => (args as unknown as () => readonly [readonly Ban[]])()[0];
        return [];
      },
      everywhere: (async (_verb: string, [added, removed]: readonly (readonly BanName[])[]) => {
        for (const { as, who } of added ?? []) this.told.push(`+ ${as} ${who}`);
        for (const { as, who } of removed ?? []) this.told.push(`- ${as} ${who}`);
        return { answers: [['worker 0', added?.length ?? 0]], missing: [] };
      }) as unknown as WorkersFace['everywhere'],
    };
    return face as WorkersFace;
  }

  get nowSeconds(): number {
    return this.clock.nowMs() / 1000;
  }

  names(): string[] {
    return this.bans.list(0, 1000).map(({ as, who }) => `${as} ${who}`);
  }

  [Symbol.dispose](): void {
    this.bans[Symbol.dispose]();
  }
}

function entry(as: Ban['as'], who: string, rest: Partial<BanEntry> = {}): BanEntry {
  return { as, who, reason: undefined, desc: undefined, by: undefined, until: undefined, ...rest };
}

test('bans are listed by kind and name, page by page', async () => {
  using bench = new Bench();
  const { bans } = bench;
  for (const who of ['b', 'a']) await bans.add(entry('username', who));
  for (const who of ['10.0.0.0/8', '9.0.0.0/8']) await bans.add(entry('ip_address', who));
  for (const who of ['z', 'a']) await bans.add(entry('client_id', who));
  const all = [
    'client_id a',
    'client_id z',
    'ip_address 9.0.0.0/8',
    'ip_address 10.0.0.0/8',
    'username a',
    'username b',
  ];
  assert.deepEqual(bench.names(), all);
  assert.equal(bans.size, 6);
  const page = bans.list(2, 3).map(({ as, who }) => `${as} ${who}`);
  assert.deepEqual(page, all.slice(2, 5));
  assert.deepEqual(bans.list(6, 3), []);
});

test('a ban takes the place of one that means the same', async () => {
  using bench = new Bench();
  const { bans } = bench;
  await bans.add(entry('ip_address', '10.1.2.3/8', { reason: 'old' }));
  await bans.add(entry('ip_address', '10.0.0.0/8', { reason: 'new' }));
  assert.deepEqual(bans.list(0, 9), [entry('ip_address', '10.0.0.0/8', { reason: 'new' })]);
  await bans.remove({ as: 'ip_address', who: '::ffff:10.0.0.0/104' });
  assert.equal(bans.size, 0);
  await bans.remove({ as: 'ip_address', who: 'nonsense' });
});

test('a name is banned while its ban holds, however it is written', async () => {
  using bench = new Bench();
  const { bans } = bench;
  await bans.add(entry('ip_address', '10.1.2.3/8'));
  await bans.add(entry('client_id', 'c', { until: bench.nowSeconds + 60 }));
  assert.equal(bans.has({ as: 'ip_address', who: '10.0.0.0/8' }), true);
  assert.equal(bans.has({ as: 'ip_address', who: '10.0.0.0/9' }), false);
  assert.equal(bans.has({ as: 'username', who: 'c' }), false);
  assert.equal(bans.has({ as: 'client_id', who: 'c' }), true);
  bench.clock.advance(60_000);
  assert.equal(bans.has({ as: 'client_id', who: 'c' }), false);
});

test('bans are there after a restart, all of their fields', async () => {
  using bench = new Bench();
  const until = bench.nowSeconds + 100;
  const full = entry('client_id', 'c', { reason: 'r', desc: 'd', by: 'b', until });
  const bare = entry('username', 'x'.repeat(5000));
  await bench.bans.add(full);
  await bench.bans.add(bare);
  await bench.bans.add(entry('client_id', 'gone'));
  await bench.bans.remove({ as: 'client_id', who: 'gone' });
  assert.deepEqual(bench.open().list(0, 9), [full, bare]);
});

test('a worker that comes later is told the list of that moment, without what is none of its business', async () => {
  using bench = new Bench();
  await bench.bans.start();
  assert.deepEqual(bench.whole(), []);
  await bench.bans.add(entry('client_id', 'c', { reason: 'secret', until: 5_000_000_000 }));
  assert.deepEqual(bench.whole(), [{ as: 'client_id', who: 'c', until: 5_000_000_000 }]);
  assert.deepEqual(bench.told, ['+ client_id c']);
});

test('a ban is over at its time, listed no more, and swept from the disk within a minute', async () => {
  using bench = new Bench();
  const { clock, bans } = bench;
  await bans.start();
  await bans.add(entry('client_id', 'short', { until: bench.nowSeconds + 10 }));
  await bans.add(entry('client_id', 'long', { until: bench.nowSeconds + 100 }));
  bench.told.length = 0;
  clock.advance(10_000);
  assert.deepEqual(bench.names(), ['client_id long']);
  assert.equal(bans.size, 1);
  assert.deepEqual(bench.told, ['- client_id short']);
  clock.advance(160_000);
  assert.deepEqual(bench.told, ['- client_id short', '- client_id long'], 'nobody has listed');
  await new DurableStore(bench.engine, { clock }).flushed();
  assert.deepEqual(bench.open().list(0, 9), []);
});

test('a ban that has expired while the broker was down is not taken up', async () => {
  using bench = new Bench();
  await bench.bans.add(entry('client_id', 'c', { until: bench.nowSeconds + 10 }));
  bench.bans[Symbol.dispose]();
  bench.clock.advance(20_000);
  await bench.open().start();
  assert.deepEqual(bench.whole(), []);
  assert.equal(bench.bans.size, 0);
});

test('a ban of the past holds for nobody, and yet takes the place of the one before', async () => {
  using bench = new Bench();
  await bench.bans.add(entry('client_id', 'c'));
  assert.equal(await bench.bans.add(entry('client_id', 'c', { until: 1 })), 0);
  assert.equal(bench.bans.size, 0);
  assert.deepEqual(bench.told, ['+ client_id c', '- client_id c']);
});

test('a ban that the disk refuses is none', async () => {
  using bench = new Bench();
  const { bans, engine } = bench;
  await bans.add(entry('client_id', 'kept', { reason: 'first' }));
  bench.told.length = 0;
  engine.fail();
  const refusals = [
    bans.add(entry('client_id', 'new')),
    bans.add(entry('client_id', 'kept', { reason: 'second' })),
    bans.remove({ as: 'client_id', who: 'kept' }),
  ];
  for (const refused of refusals) {
    await assert.rejects(refused, { code: 102, message: /^Cannot store the ban: .*disk is full/ });
  }
  assert.deepEqual(bans.list(0, 9), [entry('client_id', 'kept', { reason: 'first' })]);
  assert.deepEqual(bench.told, []);
  engine.pass();
});

test('a ban that comes while the one before expires is not swept away with it', async () => {
  using bench = new Bench();
  const { bans, engine, clock } = bench;
  await bans.add(entry('client_id', 'c', { until: bench.nowSeconds + 10 }));
  engine.hold();
  const again = bans.add(entry('client_id', 'c', { reason: 'again' }));
  clock.advance(10_000);
  bans.sweep();
  engine.pass();
  await again;
  assert.deepEqual(bench.names(), ['client_id c']);
  assert.equal(bench.open().size, 1, 'on disk too');
});

test('there are no more bans than there may be', async () => {
  using bench = new Bench();
  const bans = bench.open(3);
  await bans.add(entry('client_id', '1'));
  const results = await Promise.allSettled(
    ['2', '3', '4', '5'].map((who) => bans.add(entry('client_id', who))),
  );
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'rejected', 'rejected'],
  );
  await assert.rejects(bans.add(entry('client_id', '6')), { code: 102, message: /3 entries/ });
  await bans.add(entry('client_id', '1', { reason: 'not a fourth' }));
  await bans.remove({ as: 'client_id', who: '2' });
  await bans.add(entry('client_id', '6'));
  assert.deepEqual(bench.names(), ['client_id 1', 'client_id 3', 'client_id 6']);
});

test('what nobody can be banned by is refused', async () => {
  using bench = new Bench();
  await assert.rejects(bench.bans.add(entry('ip_address', '10.0.0.0/40')), {
    code: 108,
    message: 'Cannot ban "10.0.0.0/40": want a prefix of 0 to 32',
  });
  assert.equal(bench.bans.size, 0);
});
