import assert from 'node:assert/strict';
import test from 'node:test';
import { Stage } from './preview-fixture.ts';
import { perSecondMax, recordedMax, Recorder } from './preview-recorder.ts';

function recorder(): { stage: Stage; recorder: Recorder; now: { ms: number } } {
  const stage = new Stage();
  const now = { ms: 0 };
  return { stage, now, recorder: new Recorder({ nowMs: () => now.ms, listen: stage.listen }) };
}

const publishes = ['message.publish'] as const;

test('a recorder listens only while it is to record', () => {
  const { stage, recorder: own } = recorder();
  own.apply([]);
  assert.equal(stage.listeners.size, 0);
  own.apply([{ filter: 'a/#', events: publishes }]);
  own.apply([{ filter: 'a/#', events: publishes }]);
  assert.equal(stage.listeners.size, 1);
  const [listener] = stage.listeners;
  assert.deepEqual([...(listener?.interests ?? [])], [['message.publish', ['a/#']]]);
  own.apply([]);
  assert.equal(stage.listeners.size, 0);
});

test('a recorder asks for events without a topic whatever the filter is', () => {
  const { stage, recorder: own } = recorder();
  own.apply([{ filter: 'a', events: ['client.connected'] }]);
  const [listener] = stage.listeners;
  assert.deepEqual([...(listener?.interests ?? [])], [['client.connected', undefined]]);
});

test('a recorder keeps the last ones, so many in a second, each once', () => {
  const { stage, recorder: own, now } = recorder();
  own.apply([
    { filter: '#', events: publishes },
    { filter: 'a/#', events: publishes },
  ]);
  for (let i = 0; i < 2 * perSecondMax; i++) stage.publish(`a/${i}`, 'x', i);
  assert.deepEqual(own.counts(), { 'message.publish': perSecondMax });
  for (let i = 0; i < 2 * recordedMax; i++) {
    now.ms += 1000;
    stage.publish(`b/${i}`, 'x', 10_000 + i);
  }
  assert.deepEqual(own.counts(), { 'message.publish': recordedMax });
  const topics = own.latest(publishes).map(({ topic }) => topic);
  assert.deepEqual([topics.length, topics[0]], [recordedMax, `b/${2 * recordedMax - 1}`]);
});

test('a recorder is bounded in bytes, and passes over what is too large', () => {
  const { stage, recorder: own, now } = recorder();
  own.apply([{ filter: '#', events: publishes }]);
  for (let i = 0; i < 50; i++) {
    now.ms += 1000;
    stage.publish(`a/${i}`, 'x'.repeat(20_000), i);
  }
  const kept = own.counts()['message.publish'] ?? 0;
  assert.ok(kept > 5 && kept < 20, String(kept));
  stage.publish('large', 'x'.repeat(200_000));
  assert.ok(own.latest(publishes).every(({ topic }) => topic !== 'large'));
});

test('a recorder forgets at once what is no longer switched on', () => {
  const { stage, recorder: own } = recorder();
  own.apply([
    { filter: 'a/#', events: publishes },
    { filter: 'b/#', events: publishes },
  ]);
  stage.publish('a/1', 'x');
  stage.publish('b/1', 'x');
  own.apply([{ filter: 'b/#', events: publishes }]);
  assert.deepEqual(
    own.latest(publishes).map(({ topic }) => topic),
    ['b/1'],
  );
  own.apply([]);
  assert.deepEqual(own.counts(), {});
});
