import assert from 'node:assert/strict';
import test from 'node:test';
import { VirtualClock } from '#base/clock';
import { Alarms } from './alarms.ts';
import { EventLog } from './event-log-fixture.ts';
import { Metric, Metrics } from './metrics.ts';
import { Overload } from './overload.ts';
import { Level, type Pausable, Pressure } from './pressure.ts';

const budgetBytes = 100_000_000;
const percent = budgetBytes / 100;
const sampleMs = 250;
const episodeEndMs = 20 * sampleMs;

class Bench {
  readonly clock = new VirtualClock();
  readonly log = new EventLog();
  readonly metrics = new Metrics();
  readonly alarms = new Alarms(this.clock, this.log);
  readonly pressure = new Pressure();
  heap = 0.1;
  readonly overload: Overload;
  /** Those that are read, in the order in which they were let on. */
  readonly letOn: string[] = [];

  constructor() {
    const { clock, log, metrics, alarms, pressure } = this;
    const parts = { budgetBytes, clock, log, metrics, alarms, pressure };
    this.overload = new Overload({ ...parts, heapShare: () => this.heap });
    this.overload.start();
  }

  hold(percents: number): void {
    this.pressure.held.messages = percents * percent;
  }

  /** A turn of the event loop that ends with so much held. */
  turn(percents: number): void {
    this.hold(percents);
    this.pressure.look();
  }

  pause(count: number, owesAcknowledgements = false): Pausable[] {
    const clients = Array.from({ length: count }, (_, i) => ({
      holdBack: () => undefined,
      letOn: () => void this.letOn.push(`${i}`),
      owesAcknowledgements,
    }));
    for (const client of clients) this.pressure.pause(client);
    return clients;
  }
}

test('overload pauses and refuses in the very turn that goes over the budget', () => {
  const bench = new Bench();
  const { pressure, overload } = bench;
  bench.turn(79);
  assert.equal(overload.level, Level.calm);
  bench.turn(80);
  assert.deepEqual([pressure.isPausing, pressure.isRefusing], [true, false]);
  bench.turn(99);
  assert.equal(overload.level, Level.pausing);
  bench.turn(100);
  assert.deepEqual([pressure.isPausing, pressure.isRefusing], [true, true]);
});

test('overload goes back with the next sample that finds it below where a level is left', () => {
  const bench = new Bench();
  const { pressure } = bench;
  bench.turn(100);
  bench.hold(85);
  assert.ok(pressure.isRefusing);
  bench.clock.advance(sampleMs);
  assert.deepEqual([pressure.isPausing, pressure.isRefusing], [true, false]);
  bench.hold(75);
  bench.clock.advance(sampleMs);
  assert.ok(pressure.isPausing);
  bench.hold(71);
  bench.clock.advance(sampleMs);
  assert.equal(pressure.isPausing, false);
});

test('overload follows the heap', () => {
  const bench = new Bench();
  bench.heap = 0.85;
  bench.clock.advance(sampleMs);
  assert.equal(bench.overload.level, Level.pausing);
  bench.heap = 0.92;
  bench.clock.advance(sampleMs);
  assert.equal(bench.overload.level, Level.refusing);
  bench.heap = 0.3;
  bench.clock.advance(sampleMs);
  assert.equal(bench.overload.level, Level.calm);
});

test('overload follows an event loop that is late for some time, and forgives one long turn', () => {
  const bench = new Bench();
  bench.clock.jump(30_000);
  assert.equal(bench.overload.level, Level.calm);
  bench.clock.advance(10 * sampleMs);
  for (let i = 0; i < 2; i++) bench.clock.jump(sampleMs + 1500);
  assert.equal(bench.overload.level, Level.calm);
  bench.clock.jump(sampleMs + 1500);
  assert.equal(bench.overload.level, Level.pausing);
  assert.equal(bench.alarms.present()[0]?.details['loopDelayMs'], 1500);
  for (let i = 0; i < 3; i++) bench.clock.jump(sampleMs + 6000);
  assert.equal(bench.overload.level, Level.refusing);
  bench.clock.advance(sampleMs);
  assert.equal(bench.overload.level, Level.calm);
});

test('overload is logged, counted and shown as one alarm per episode, ups and downs included', () => {
  const bench = new Bench();
  const { clock, log, metrics, alarms } = bench;
  clock.advance(10_000);
  assert.deepEqual(log.events, []);
  for (const percents of [80, 100, 120, 10, 85, 101, 10]) {
    bench.turn(percents);
    clock.advance(sampleMs);
  }
  metrics.add(Metric.overloadPaused, 7);
  metrics.add(Metric.overloadRefused, 3);
  assert.deepEqual(log.names, ['alarm.raised', 'overload.pausing', 'overload.refusing']);
  assert.deepEqual(log.events[2], {
    level: 'warn',
    event: 'overload.refusing',
    heldBytes: budgetBytes,
    budgetBytes,
    heapPercent: 10,
    loopDelayMs: 0,
  });
  const [alarm] = alarms.present();
  assert.equal(alarm?.name, 'overload');
  assert.deepEqual(
    [alarm.details['level'], alarm.details['heldBytes'], alarm.details['budgetBytes']],
    ['calm', 10 * percent, budgetBytes],
  );
  clock.advance(episodeEndMs);
  assert.deepEqual(alarms.present(), []);
  assert.deepEqual(log.names.slice(3), ['alarm.cleared', 'overload.over']);
  assert.deepEqual(log.events[4], {
    level: 'info',
    event: 'overload.over',
    seconds: 7,
    highestLevel: 'refusing',
    heldBytesMax: 120 * percent,
    publishersPaused: 7,
    connectionsRefused: 3,
  });
  bench.turn(80);
  assert.equal(metrics.get('overload/episodes'), 2);
  assert.deepEqual(log.names.slice(5), ['alarm.raised', 'overload.pausing']);
});

test('overload asks for relief first, and does nothing else when that is enough', () => {
  const bench = new Bench();
  const { clock, log, overload } = bench;
  let asked = 0;
  overload.onPressure(() => {
    throw new Error('cannot help');
  });
  overload.onPressure(() => {
    asked++;
    bench.hold(40);
  });
  bench.turn(85);
  assert.equal(asked, 1);
  assert.equal(overload.level, Level.calm);
  assert.deepEqual(log.names, ['overload.relief.failed']);
  bench.turn(85);
  assert.equal(asked, 1, 'relief is not asked for in every turn');
  assert.equal(overload.level, Level.pausing);
  clock.advance(1000);
  bench.turn(100);
  assert.equal(asked, 2);
  assert.equal(overload.level, Level.calm);
});

test('overload lets every paused client be read about once a second, in turn', () => {
  const bench = new Bench();
  bench.turn(85);
  bench.pause(8);
  bench.clock.advance(sampleMs);
  assert.deepEqual(bench.letOn, ['0', '1']);
  bench.clock.advance(sampleMs);
  assert.deepEqual(bench.letOn, ['0', '1', '2', '3']);
  bench.clock.advance(4 * sampleMs);
  assert.equal(bench.letOn.length, 8);
});

test('overload lets no more be read than would fit if each read were full', () => {
  const bench = new Bench();
  bench.turn(97);
  bench.pause(100);
  bench.clock.advance(sampleMs);
  assert.equal(bench.letOn.length, 2, '3 % of the budget are less than three reads');
  bench.hold(99.99);
  bench.clock.advance(sampleMs);
  assert.equal(bench.letOn.length, 3, 'one always');
});

test('overload lets all go on when it is over, as many at a time as fit', () => {
  const bench = new Bench();
  bench.turn(85);
  bench.pause(80);
  bench.hold(70);
  bench.clock.advance(sampleMs);
  assert.equal(bench.letOn.length, 9, '10 % of the budget are nine reads');
  bench.hold(0);
  bench.clock.advance(sampleMs);
  assert.equal(bench.letOn.length, 80);
  assert.equal(bench.pressure.pausedCount, 0);
});

test('overload far over the budget reads one client at a time, for its acknowledgements', () => {
  const bench = new Bench();
  bench.turn(130);
  bench.pause(8);
  bench.clock.advance(10 * sampleMs);
  assert.deepEqual(bench.letOn, []);
  bench.pause(8, true);
  bench.clock.advance(2 * sampleMs);
  assert.deepEqual(bench.letOn, ['0', '1']);
});

test('overload that is stopped lets everybody on and watches no more', () => {
  const bench = new Bench();
  const { pressure, clock, overload } = bench;
  bench.turn(130);
  bench.pause(8);
  overload.stop();
  assert.equal(bench.letOn.length, 8);
  assert.deepEqual([pressure.isPausing, pressure.isRefusing], [false, false]);
  bench.turn(130);
  clock.advance(10_000);
  assert.equal(pressure.isPausing, false);
  assert.equal(clock.timerCount, 0);
});
