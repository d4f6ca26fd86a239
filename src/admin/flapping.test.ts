import assert from 'node:assert/strict';
import test from 'node:test';
import { VirtualClock } from '#base/clock';
import { createLog } from '#base/log';
import { loadSettings } from '#config/load';
import type { BanName } from '#access/banned';
import type { FlappingEvent } from '#observe/flapping';
import type { BanEntry, Bans } from './bans.ts';
import { Flapping, type FlappingParts } from './flapping.ts';

/** Four events in ten seconds are one too many in zone `external`, three in `strict`. */
const sets = [
  'listener.tcp.external=1883',
  'zone.external.enable_ban=on',
  'zone.external.enable_flapping_detect=on',
  'zone.external.flapping_threshold=3,10s',
  'zone.external.flapping_banned_expiry_interval=5m',
  'zone.strict.enable_ban=on',
  'zone.strict.enable_flapping_detect=on',
  'zone.strict.flapping_threshold=2,1s',
  'zone.strict.flapping_banned_expiry_interval=1h',
  'zone.other.enable_ban=on',
  'flapping_clean_interval=30s',
];

class Bench implements Disposable {
  readonly clock: VirtualClock = new VirtualClock();
  readonly added: BanEntry[] = [];
  readonly banned = new Set<string>();
  readonly lines: string[] = [];
  readonly flapping: Flapping;
  isFull = false;
  zones: readonly string[] | undefined;
  #listener: (events: readonly FlappingEvent[], worker: number) => void = () => undefined;

  constructor(limits: Partial<FlappingParts> = {}, keys: readonly string[] = sets) {
    const sink = {
      write: (line: string): void => void this.lines.push(line),
      async [Symbol.asyncDispose]() {},
    };
    const { clock } = this;
    const settings = loadSettings({ sets: keys });
    const log = createLog('info', [{ from: 'info', sink }]);
    this.flapping = new Flapping({
      workers: this.#workers(),
      bans: this.#bans(),
      settings,
      clock,
      log,
      ...limits,
    });
  }

  #workers(): FlappingParts['workers'] {
    const face = {
      uphold: async (_verb: string, [zones]: readonly (readonly string[])[]) => {
        this.zones = zones;
      },
      onReport: (_name: string, listener: never) => {
        this.#listener = listener;
      },
    };
    return face as unknown as FlappingParts['workers'];
  }

  #bans(): Pick<Bans, 'add' | 'has'> {
    return {
      has: ({ who }: BanName) => this.banned.has(who),
      add: async (entry: BanEntry) => {
        if (this.isFull) throw new Error('the list is full');
        this.added.push(entry);
        return 1;
      },
    };
  }

  /** So many events of a client, each from another worker than the one before. */
  events(clientId: string, count: number, zone: string = 'external'): void {
    for (let i = 0; i < count; i++) this.#listener([{ clientId, zone }], i % 2);
  }

  get names(): string[] {
    return this.added.map(({ who }) => who);
  }

  [Symbol.dispose](): void {
    this.flapping[Symbol.dispose]();
  }
}

async function started(
  limits: Partial<FlappingParts> = {},
  keys?: readonly string[],
): Promise<Bench> {
  const bench = new Bench(limits, keys);
  await bench.flapping.start();
  return bench;
}

test('a client that does more than the threshold inside the window is banned, as flapping', async () => {
  using bench = await started();
  assert.deepEqual(bench.zones, ['external', 'strict']);
  bench.events('c', 3);
  bench.clock.advance(9999);
  assert.deepEqual(bench.added, []);
  bench.events('c', 1);
  const until = Math.ceil(bench.clock.nowMs() / 1000) + 300;
  assert.deepEqual(bench.added, [
    {
      as: 'client_id',
      who: 'c',
      reason: 'flapping',
      by: 'flapping_checker',
      desc: undefined,
      until,
    },
  ]);
  assert.match(bench.lines.join(), /"clientId":"c".*"events":4.*"flapping\.banned"/);
});

test('the window begins with the first event and is not extended by others', async () => {
  using bench = await started();
  // One every four seconds never makes four in ten.
  for (let i = 0; i < 50; i++) {
    bench.events('slow', 1);
    bench.clock.advance(4000);
  }
  // Three at the end of a window and three after it.
  bench.events('edge', 1);
  bench.clock.advance(9000);
  bench.events('edge', 2);
  bench.clock.advance(1000);
  bench.events('edge', 3);
  assert.deepEqual(bench.names, []);
  bench.events('edge', 1);
  assert.deepEqual(bench.names, ['edge']);
});

test('clients are counted each by itself, by the limits of their zone', async () => {
  using bench = await started();
  for (const clientId of ['a', 'b', '__proto__', 'constructor']) bench.events(clientId, 3);
  bench.events('a', 2, 'strict');
  bench.events('x', 100, 'other');
  assert.deepEqual(bench.names, []);
  bench.events('a', 1, 'strict');
  bench.events('b', 1);
  assert.deepEqual(
    bench.added.map(({ who, until }) => [who, (until ?? 0) - bench.clock.nowMs() / 1000]),
    [
      ['a', 3600],
      ['b', 300],
    ],
  );
});

test('who was banned begins anew, and a ban that there is stays', async () => {
  using bench = await started();
  bench.events('c', 4);
  bench.events('c', 3);
  assert.deepEqual(bench.names, ['c']);
  bench.banned.add('c');
  bench.events('c', 1);
  assert.deepEqual(bench.names, ['c']);
  bench.banned.delete('c');
  bench.events('c', 3);
  assert.deepEqual(bench.names, ['c']);
  bench.events('c', 1);
  assert.deepEqual(bench.names, ['c', 'c']);
});

test('a list of bans that takes no more is told, and counting goes on', async () => {
  using bench = await started();
  bench.isFull = true;
  bench.events('c', 4);
  await Promise.resolve();
  assert.match(bench.lines.join(), /the list is full.*"flapping\.failed"/);
  bench.isFull = false;
  bench.events('c', 4);
  assert.deepEqual(bench.names, ['c']);
});

test('windows that have ended are forgotten by the clock, open ones are not', async () => {
  using bench = await started();
  for (let i = 0; i < 100; i++) bench.events(`c${i}`, 1);
  bench.clock.advance(25_000);
  bench.events('late', 1);
  assert.equal(bench.flapping.tracked, 101);
  bench.clock.advance(5000);
  assert.equal(bench.flapping.tracked, 1);
  bench.clock.advance(30_000);
  assert.equal(bench.flapping.tracked, 0);
});

test('so many clients are remembered, and the oldest windows go', async () => {
  using bench = await started({ trackedMax: 20 });
  for (let i = 0; i < 1000; i++) bench.events(`c${i}`, 1);
  // Half for each zone.
  assert.equal(bench.flapping.tracked, 10);
  bench.events('c999', 3);
  bench.events('c0', 3);
  assert.deepEqual(bench.names, ['c999']);
});

test('so many characters of client ids are remembered', async () => {
  using bench = await started({ trackedCharsMax: 2000 });
  for (let i = 0; i < 100; i++) bench.events(`${i}`.padStart(100, 'x'), 1);
  assert.equal(bench.flapping.tracked, 10);
  bench.events('y'.repeat(65_535), 5);
  assert.equal(bench.flapping.tracked, 0);
  bench.events('short', 4);
  assert.deepEqual(bench.names, ['short']);
});

test('where no zone wants it nobody is asked and no timer runs', async () => {
  using bench = await started({}, ['listener.tcp.external=1883', 'zone.external.enable_ban=on']);
  assert.equal(bench.zones, undefined);
  assert.equal(bench.clock.timerCount, 0);
});

test('no timer is left when it ends', async () => {
  const bench = await started();
  assert.equal(bench.clock.timerCount, 1);
  bench[Symbol.dispose]();
  assert.equal(bench.clock.timerCount, 0);
});
