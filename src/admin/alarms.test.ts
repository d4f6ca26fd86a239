import assert from 'node:assert/strict';
import test from 'node:test';
import { VirtualClock } from '#base/clock';
import { nullLogger } from '#base/log';
import { alarmHistoryMax, Alarms } from '#core/alarms';
import type { RecordStore } from '#core/store-port';
import { alarmItem } from './alarm-words.ts';
import { AlarmBook } from './alarms.ts';

class Records implements RecordStore {
  readonly kept = new Map<string, unknown>();
  get(key: string): unknown {
    return this.kept.get(key);
  }
  put(key: string, value: unknown): void {
    this.kept.set(key, structuredClone(value));
  }
  delete(key: string): void {
    this.kept.delete(key);
  }
  entries(): Iterable<readonly [string, unknown]> {
    return this.kept.entries();
  }
}

interface Bench {
  readonly alarms: Alarms;
  readonly book: AlarmBook;
  readonly clock: VirtualClock;
  readonly told: string[];
}

function bench(records: Records, raise: (alarms: Alarms) => void = () => undefined): Bench {
  const clock = new VirtualClock(1_000_000);
  const alarms = new Alarms(clock, nullLogger);
  raise(alarms);
  const told: string[] = [];
  const book = new AlarmBook(alarms, {
    records: { records: () => records, flushed: () => Promise.reject(new Error('disk full')) },
    clock,
    log: nullLogger,
    publish: (path, payload) => void told.push(`${path} ${payload}`),
  });
  return { alarms, book, clock, told };
}

test('an alarm that is looked at again and again is told each time, and cleared once', () => {
  const { alarms, book, told } = bench(new Records());
  book.raise('cpu', '81');
  book.raise('cpu', '95');
  alarms.raise('cpu', { text: '96' });
  alarms.clear('cpu');
  alarms.clear('cpu');
  assert.deepEqual(told, [
    'alarms/alert {"id":"cpu","desc":"81"}',
    'alarms/alert {"id":"cpu","desc":"95"}',
    'alarms/clear {"id":"cpu"}',
  ]);
});

test('what was raised before the book was opened is told, and not taken for over', () => {
  const records = new Records();
  records.put('cpu', { sinceMs: 5, details: { text: 'before' } });
  const { alarms, told } = bench(records, (early) => early.raise('cpu', { text: 'now' }));
  assert.deepEqual(told, ['alarms/alert {"id":"cpu","desc":"now"}']);
  assert.deepEqual(records.get('cpu'), { sinceMs: 1_000_000, details: { text: 'now' } });
  assert.deepEqual(
    alarms.history().map(({ details, untilMs }) => [details, untilMs]),
    [[{ text: 'before' }, 1_000_000]],
  );
});

test('records are kept for as many alarms as the history has, and for those that are raised', () => {
  const records = new Records();
  const { alarms, clock } = bench(records);
  alarms.raise('present', {});
  for (let i = 0; i <= alarmHistoryMax; i++) {
    alarms.raise(`alarm ${i}`, {});
    clock.advance(1);
    alarms.clear(`alarm ${i}`);
  }
  assert.equal(records.kept.size, alarmHistoryMax + 1);
  assert.ok(records.kept.has('present'));
  assert.equal(records.kept.has('alarm 0'), false);
});

test('nothing is written while the store takes nothing, and all of it when it does again', () => {
  const records = new Records();
  const { alarms } = bench(records);
  alarms.raise('store', { error: 'full' });
  alarms.raise('cpu', { text: '81' });
  alarms.clear('cpu');
  assert.deepEqual([...records.kept.keys()], []);
  alarms.clear('store');
  assert.deepEqual([...records.kept.keys()].sort(), ['cpu', 'store']);
});

test('an alarm without a text is described by severity, title and summary', () => {
  const describe = (name: string): unknown => {
    const item = alarmItem({ name, sinceMs: 0, details: { error: 'why', deaths: 2, list: [1] } });
    const { timestamp: _, ...desc } = item.desc as { timestamp: string };
    return Object.values(desc);
  };
  const summary = 'error: why, deaths: 2, list: [1]';
  assert.deepEqual(describe('store'), ['critical', 'The store cannot be written', summary]);
  assert.deepEqual(describe('overload'), ['warning', 'The broker is overloaded', summary]);
  assert.deepEqual(describe('worker/1'), ['error', 'A worker died and was started again', summary]);
  assert.deepEqual(describe('another'), ['warning', 'another', summary]);
});
