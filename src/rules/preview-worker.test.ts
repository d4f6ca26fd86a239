import assert from 'node:assert/strict';
import test from 'node:test';
import { VirtualClock } from '#base/clock';
import { Stage } from './preview-fixture.ts';
import type { PreviewRow } from './preview-run.ts';
import { PreviewWorker } from './preview-worker.ts';
import { RuleFault } from './rule-fault.ts';

function worker(): { stage: Stage; own: PreviewWorker; clock: VirtualClock; full: number[] } {
  const stage = new Stage();
  const clock = new VirtualClock();
  const full: number[] = [];
  const own = new PreviewWorker({
    nowMs: () => clock.nowMs(),
    after: (ms, call) => {
      const timer = clock.setTimer(ms, call);
      return () => timer.cancel();
    },
    listen: stage.listen,
    full: (id) => void full.push(id),
  });
  return { stage, own, clock, full };
}

const rawsql = 'SELECT payload.x AS x FROM "t/#" WHERE x > 1';
const order = { rawsql, for: undefined, count: 2 };

interface Row {
  readonly matched: boolean;
  readonly output: readonly unknown[];
  readonly reasons: readonly string[];
}
const rowsOf = (rows: readonly PreviewRow[]): Row[] =>
  rows.map(({ json }) => JSON.parse(json) as Row);

test('a preview shows what was recorded, the latest first, and no more than is wanted', () => {
  const { stage, own } = worker();
  own.record([{ filter: '#', events: ['message.publish'] }]);
  for (const x of [1, 2, 3]) stage.publish('t/1', `{"x":${x}}`, x);
  stage.publish('other', '{"x":9}', 9);
  assert.deepEqual(
    rowsOf(own.ofRecorded(order)).map(({ output }) => output),
    [[{ x: 3 }], [{ x: 2 }]],
  );
  assert.deepEqual(own.recorded(), { 'message.publish': 4 });
});

test('a preview of what was recorded ends in time, with what it has until then', () => {
  const stage = new Stage();
  let ms = 0;
  let perLookMs = 0;
  const own = new PreviewWorker({
    nowMs: () => (ms += perLookMs),
    ...{ after: () => () => undefined, listen: stage.listen, full: () => undefined },
  });
  own.record([{ filter: '#', events: ['message.publish'] }]);
  for (let x = 0; x < 10; x++) stage.publish('t/1', `{"x":${x}}`, x);
  const all = { ...order, count: 100 };
  assert.equal(own.ofRecorded(all).length, 10);
  perLookMs = 600;
  assert.equal(own.ofRecorded(all).length, 3);
});

test('a live preview collects until it is full, says so, and leaves', () => {
  const { stage, own, clock, full } = worker();
  own.start(7, order, 1000);
  const [listener] = stage.listeners;
  assert.deepEqual([...(listener?.interests ?? [])], [['message.publish', ['t/#']]]);
  for (const x of [1, 2, 3]) stage.publish('t/1', `{"x":${x}}`);
  assert.deepEqual(full, [7]);
  const rows = rowsOf(own.end(7));
  assert.deepEqual(
    rows.map(({ matched }) => matched),
    [false, true],
  );
  assert.match(rows[0]?.reasons[0] ?? '', /^WHERE: x > 1 is false/);
  assert.equal(stage.listeners.size, 0);
  assert.equal(clock.timerCount, 0);
  assert.deepEqual(own.end(7), []);
});

test('a live preview that nobody ends is forgotten', () => {
  const { stage, own, clock } = worker();
  own.start(1, order, 1000);
  clock.advance(60_000);
  assert.equal(stage.listeners.size, 0);
  assert.deepEqual(own.end(1), []);
});

test('a preview of what cannot be read is refused', () => {
  const { own } = worker();
  assert.throws(() => own.start(1, { ...order, rawsql: 'SELECT' }, 1000), RuleFault);
});

test('a preview of one event several topics of which FROM names listens to all of them', () => {
  const { stage, own } = worker();
  own.start(1, { ...order, rawsql: 'SELECT * FROM "a", "b", "a", "client.connected"' }, 1);
  const [listener] = stage.listeners;
  assert.deepEqual(
    [...(listener?.interests ?? [])],
    [
      ['message.publish', ['a', 'b']],
      ['client.connected', undefined],
    ],
  );
});

test('a preview says which elements of FOREACH are left out, and shows outputs that JSON cannot hold', () => {
  const { stage, own } = worker();
  own.record([{ filter: '#', events: ['message.publish'] }]);
  stage.publish('t/1', '{"list":[{"v":1},{"v":12345678901234567890}]}');
  const each = 'FOREACH payload.list AS n DO n.v AS v INCASE n.v > 1 FROM "t/#"';
  const [row] = own.ofRecorded({ ...order, rawsql: each });
  assert.match(row?.json ?? '', /"output":\[\{"v":12345678901234567890\}\]/);
  assert.match(row?.json ?? '', /INCASE of element 1: /);
  // Unfolds to more than anybody wants to see.
  const many = `SELECT ${Array.from({ length: 60 }, (_, i) => `[1..5000] AS a${i}`).join(', ')} FROM "t/#"`;
  const [large] = rowsOf(own.ofRecorded({ ...order, rawsql: many }));
  assert.equal(large?.matched, false);
  assert.equal(large.reasons.length > 0, true);
});
