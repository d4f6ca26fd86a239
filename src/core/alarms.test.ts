import assert from 'node:assert/strict';
import test from 'node:test';
import { VirtualClock } from '#base/clock';
import { alarmHistoryMax, Alarms } from './alarms.ts';
import { EventLog } from './event-log-fixture.ts';

function setUp(): { alarms: Alarms; clock: VirtualClock; log: EventLog } {
  const clock = new VirtualClock(1_000_000);
  const log = new EventLog();
  return { alarms: new Alarms(clock, log), clock, log };
}

test('an alarm is present from raise to clear, and history afterwards', () => {
  const { alarms, clock } = setUp();
  assert.deepEqual(alarms.present(), []);
  alarms.raise('high', { percent: 81 });
  clock.advance(500);
  assert.ok(alarms.isRaised('high'));
  assert.deepEqual(alarms.present(), [
    { name: 'high', sinceMs: 1_000_000, details: { percent: 81 } },
  ]);
  alarms.clear('high');
  assert.equal(alarms.isRaised('high'), false);
  assert.deepEqual(alarms.present(), []);
  assert.deepEqual(alarms.history(), [
    { name: 'high', sinceMs: 1_000_000, details: { percent: 81 }, untilMs: 1_000_500 },
  ]);
});

test('an alarm raised again renews its details and nothing else', () => {
  const { alarms, clock, log } = setUp();
  const told: string[] = [];
  alarms.onChange((change, { name }) => told.push(`${name} ${change}`));
  alarms.raise('high', { percent: 81 });
  clock.advance(500);
  alarms.raise('high', { percent: 95 });
  assert.deepEqual(alarms.present(), [
    { name: 'high', sinceMs: 1_000_000, details: { percent: 95 } },
  ]);
  assert.deepEqual(told, ['high raised']);
  assert.deepEqual(log.names, ['alarm.raised']);
});

test('an alarm is logged once per episode, with its details', () => {
  const { alarms, log } = setUp();
  alarms.clear('high');
  for (let episode = 0; episode < 2; episode++) {
    alarms.raise('high', { percent: 81 });
    alarms.raise('high', { percent: 82 });
    alarms.clear('high');
    alarms.clear('high');
  }
  const once = [
    { level: 'warn', event: 'alarm.raised', alarm: 'high', details: { percent: 81 } },
    { level: 'info', event: 'alarm.cleared', alarm: 'high', details: { percent: 82 } },
  ];
  assert.deepEqual(log.events, [...once, ...once]);
});

test('alarms of several names stand in the order they were raised', () => {
  const { alarms } = setUp();
  for (const name of ['a', 'b', 'c']) alarms.raise(name, {});
  alarms.raise('a', { again: true });
  alarms.clear('b');
  assert.deepEqual(
    alarms.present().map(({ name }) => name),
    ['a', 'c'],
  );
});

test('the history of alarms has the last time of each, in the order they were cleared', () => {
  const { alarms } = setUp();
  for (const [i, name] of ['often', 'once', 'often'].entries()) {
    alarms.raise(name, { i });
    alarms.clear(name);
  }
  assert.deepEqual(
    alarms.history().map(({ name, details }) => [name, details]),
    [
      ['once', { i: 1 }],
      ['often', { i: 2 }],
    ],
  );
});

test('the history of alarms goes on with what was taken up, and keeps a thousand names', () => {
  const { alarms } = setUp();
  const past = Array.from({ length: alarmHistoryMax }, (_, i) => ({
    name: `old ${i}`,
    sinceMs: 1,
    untilMs: 2,
    details: {},
  }));
  alarms.takeUp(past);
  alarms.raise('new', {});
  alarms.clear('new');
  const names = alarms.history().map(({ name }) => name);
  assert.equal(names.length, alarmHistoryMax);
  assert.deepEqual([names[0], names.at(-1)], ['old 1', 'new']);
});

test('a listener of alarms that throws is logged, and the others are told', () => {
  const { alarms, log } = setUp();
  const told: string[] = [];
  alarms.onChange(() => {
    throw new Error('broken');
  });
  alarms.onChange((change) => told.push(change));
  alarms.raise('high', {});
  assert.deepEqual(told, ['raised']);
  assert.deepEqual(log.names, ['alarm.raised', 'alarm.listener.failed']);
});
