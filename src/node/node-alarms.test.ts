// Law: an alarm of the node is raised as long as any worker raises it.

import assert from 'node:assert/strict';
import test from 'node:test';
import { VirtualClock } from '#base/clock';
import { nullLogger } from '#base/log';
import { Alarms } from '#core/alarms';
import { NodeAlarms } from './node-alarms.ts';

interface Bench {
  readonly alarms: Alarms;
  readonly node: NodeAlarms;
  readonly told: string[];
}

function bench(): Bench {
  const alarms = new Alarms(new VirtualClock(), nullLogger);
  const told: string[] = [];
  alarms.onChange((change, { name }) => told.push(`${change} ${name}`));
  return { alarms, node: new NodeAlarms(alarms), told };
}

test('an alarm of two workers is told once and over when the second is well again', () => {
  const { alarms, node, told } = bench();
  node.onChange(0, 'raised', 'store', { error: 'full' });
  node.onChange(1, 'raised', 'store', { error: 'slow' });
  assert.deepEqual(alarms.present()[0]?.details, { error: 'slow', worker: 1 });
  node.onChange(0, 'cleared', 'store', {});
  node.onChange(0, 'cleared', 'store', {});
  assert.deepEqual(told, ['raised store']);
  node.onChange(1, 'cleared', 'store', {});
  assert.deepEqual(told, ['raised store', 'cleared store']);
  node.onChange(1, 'cleared', 'store', {});
  assert.deepEqual(alarms.present(), []);
});

test('what a dead worker complained of is over, unless another does as well', () => {
  const { alarms, node } = bench();
  node.onChange(0, 'raised', 'store', {});
  node.onChange(1, 'raised', 'store', {});
  node.onChange(1, 'raised', 'memory', {});
  node.forget(1);
  assert.deepEqual(
    alarms.present().map(({ name }) => name),
    ['store'],
  );
  node.forget(2);
  node.forget(0);
  assert.deepEqual(alarms.present(), []);
});

test("alarms of the node itself are nobody else's to clear", () => {
  const { alarms, node } = bench();
  alarms.raise('worker/1', {});
  node.onChange(1, 'cleared', 'worker/1', {});
  node.forget(1);
  assert.equal(alarms.isRaised('worker/1'), true);
});
