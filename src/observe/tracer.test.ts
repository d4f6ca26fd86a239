import assert from 'node:assert/strict';
import test from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { VirtualClock } from '#base/clock';
import { Hooks } from '#hooks/runner';
import { type ClientInfo, hookNames, type MessageView } from '#hooks/table';
import type { TraceLevel } from './trace-line.ts';
import { type TraceBatch, Tracer, type TracerParts } from './tracer.ts';

const client = { clientId: 'c', address: '10.0.0.1', port: 9, version: 5 } as ClientInfo;
const message = {
  id: 'id-1',
  topic: 'a/b',
  payload: Buffer.from('secret'),
  qos: 1,
  retain: false,
  clientId: 'p',
} as MessageView;

function tracerWith(limits: Partial<TracerParts> = {}): {
  hooks: Hooks;
  tracer: Tracer;
  batches: TraceBatch[];
} {
  const batches: TraceBatch[] = [];
  const hooks = new Hooks((_hook, _owner, error) => {
    throw error;
  });
  const send = (batch: TraceBatch): void => void batches.push(batch);
  const tracer = new Tracer({ hooks, clock: new VirtualClock(), send, ...limits });
  return { hooks, tracer, batches };
}

const ofTopic = (of: string, level: TraceLevel = 'all') =>
  ({ name: `${of}.log`, by: 'topic', of, level }) as const;
const ofClient = (of: string, level: TraceLevel = 'all') =>
  ({ name: `${of}.log`, by: 'client', of, level }) as const;

test('a tracer sets hooks for the first trace and takes them away with the last one', () => {
  const { hooks, tracer } = tracerWith();
  tracer.set([]);
  assert.ok(hookNames.every((name) => !hooks.has(name)));
  tracer.set([ofTopic('t')]);
  assert.ok(hooks.has('message.sent') && hooks.has('client.disconnected'));
  tracer.set([ofTopic('t'), ofClient('c')]);
  assert.equal(hooks.listeners('message.sent')?.length, 1);
  tracer.set([]);
  assert.ok(hookNames.every((name) => !hooks.has(name)));
});

test('a tracer tells what concerns its traces, in one batch a turn', async () => {
  const { hooks, tracer, batches } = tracerWith();
  tracer.set([ofTopic('a/+'), ofClient('c')]);
  hooks.tell('message.sent', client, message, 1, false);
  hooks.tell('message.queued', 'other', message);
  hooks.tell('message.queued', 'other', { ...message, topic: 'x' });
  hooks.tell('client.disconnected', client, 'normal');
  assert.equal(batches.length, 0);
  await turn();
  assert.equal(batches.length, 1);
  assert.deepEqual(
    batches[0]?.lines.map(({ traces, text }) => [traces, text.split(' ')[2]]),
    [
      [['c.log', 'a/+.log'], 'message.sent'],
      [['a/+.log'], 'message.queued'],
      [['c.log'], 'client.disconnected'],
    ],
  );
});

test('a tracer keeps to the level of a trace, and shows payloads at debug alone', async () => {
  const { hooks, tracer, batches } = tracerWith();
  const levels = ['debug', 'info', 'notice', 'warning', 'error'] as const;
  tracer.set(levels.map((level) => ({ ...ofClient('c', level), name: level })));
  hooks.tell('message.sent', client, message, 1, false);
  hooks.tell('client.disconnected', client, 'normal');
  hooks.tell('message.dropped', message, 'queue_full', 'c');
  hooks.tell('message.dropped', message, 'store_failed', 'c');
  await turn();
  const lines = batches[0]?.lines ?? [];
  assert.deepEqual(
    lines.map(({ traces }) => traces.length),
    [2, 3, 4, 5],
  );
  assert.ok(lines.every(({ text }) => !text.includes('secret')));
  assert.equal(lines[0]?.payload, '"secret"');
  tracer.set([ofClient('c', 'info')]);
  hooks.tell('message.sent', client, message, 1, false);
  await turn();
  assert.equal(batches[1]?.lines[0]?.payload, undefined);
});

test('a tracer loses and counts what the control thread does not take', async () => {
  const { hooks, tracer, batches } = tracerWith({ linesMax: 1000 });
  tracer.set([ofClient('c')]);
  for (let i = 0; i < 3000; i++) {
    hooks.tell('message.queued', 'c', message);
    if (i % 100 === 0) await turn();
  }
  await turn();
  const sum = (of: 'lines' | 'lost'): number =>
    batches.reduce((all, batch) => all + (of === 'lost' ? batch.lost : batch.lines.length), 0);
  assert.equal(sum('lines'), 1000);
  const told = batches.flatMap(({ tracer: id, lines, chars }) =>
    lines.length === 0 ? [] : [{ tracer: id, lines: lines.length, chars }],
  );
  tracer.taken({ tracer: 'another', lines: 1000, chars: 0 });
  for (const taken of told) tracer.taken(taken);
  assert.equal(sum('lost'), 2000);
  hooks.tell('message.queued', 'c', message);
  await turn();
  assert.equal(sum('lines'), 1001);
});

test('a tracer is bounded in characters too', async () => {
  const { hooks, tracer, batches } = tracerWith({ charsMax: 10_000 });
  tracer.set([ofClient('c')]);
  const long = { ...message, topic: 'x'.repeat(60_000) };
  for (let i = 0; i < 100; i++) hooks.tell('message.queued', 'c', long);
  await turn();
  assert.ok((batches[0]?.chars ?? 0) <= 10_000);
  assert.equal(batches[0]?.lost, 100 - (batches[0]?.lines.length ?? 0));
});

test('a tracer tells what it has seen before it follows other traces', () => {
  const { hooks, tracer, batches } = tracerWith();
  tracer.set([ofClient('c')]);
  hooks.tell('message.queued', 'c', message);
  tracer.set([]);
  assert.equal(batches.length, 1);
});
