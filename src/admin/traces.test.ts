import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { VirtualClock } from '#base/clock';
import { nullLogger } from '#base/log';
import type { TraceSpec } from '#observe/trace-line';
import type { Taken, TraceBatch } from '#observe/tracer';
import type { WorkersFace } from '#node/node-face';
import { Traces } from './traces.ts';

/** One worker that says what the test has it say. */
class FakeWorkers {
  upheld: readonly TraceSpec[] = [];
  readonly taken: Taken[][] = [];
  isDeaf = false;
  report: (batch: TraceBatch, worker: number) => void = () => undefined;

  async uphold(_verb: string, [specs]: [readonly TraceSpec[]]): Promise<void> {
    if (this.isDeaf) throw new Error('no answer');
    this.upheld = specs;
  }

  async everywhere(_verb: string, [taken]: [Taken[]]): Promise<object> {
    this.taken.push(taken);
    await turn();
    return { answers: [], missing: [] };
  }

  onReport(_name: string, listener: (batch: TraceBatch, worker: number) => void): void {
    this.report = listener;
  }

  say(traces: readonly string[], text: string, lost = 0): void {
    const lines = [{ traces, text, payload: '"p"' }];
    this.report({ tracer: 'x', lines, chars: text.length, lost }, 3);
  }
}

function start(t: TestContext, bytesMax?: number) {
  const dir = mkdtempSync(join(tmpdir(), 'broker-traces-'));
  const clock = new VirtualClock();
  const fake = new FakeWorkers();
  const traces = new Traces({
    workers: fake as unknown as WorkersFace,
    clock,
    log: nullLogger,
    settings: { dir, file: 'broker.log', levelFiles: new Map() },
    ...(bytesMax === undefined ? {} : { bytesMax }),
  });
  t.after(async () => {
    await traces[Symbol.asyncDispose]();
    rmSync(dir, { recursive: true });
  });
  const textOf = (name: string): string => readFileSync(join(dir, name), 'utf8');
  return { clock, fake, traces, textOf };
}

/** Changes come one after another: this one is behind what was begun before. */
const settled = (traces: Traces): Promise<unknown> => traces.stop('nothing').catch(() => undefined);

test('a trace that is to stop by itself does, and not before', async (t) => {
  const { clock, fake, traces, textOf } = start(t);
  const { untilMs } = await traces.start({ by: 'client', of: 'c', file: 'c.log', forMs: 60_000 });
  assert.equal(untilMs, clock.nowMs() + 60_000);
  clock.advance(59_999);
  await settled(traces);
  assert.equal(traces.list()[0]?.ended, undefined);
  assert.equal(fake.upheld.length, 1);
  clock.advance(1);
  await settled(traces);
  assert.equal(traces.list()[0]?.ended, 'time');
  assert.deepEqual(fake.upheld, []);
  assert.match(textOf('c.log'), /\n\S+ \[notice\] trace\.ended reason=time\n$/);
});

test('a trace that was stopped leaves no timer behind', async (t) => {
  const { clock, traces } = start(t);
  await traces.start({ by: 'client', of: 'c', file: 'c.log', forMs: 60_000 });
  await traces.stop('c.log');
  assert.equal(clock.timerCount, 0);
});

test('a trace whose file is full stops with a last line', async (t) => {
  const { fake, traces, textOf } = start(t, 4000);
  await traces.start({ by: 'client', of: 'c', file: 'c.log' });
  for (let i = 0; i < 100; i++) fake.say(['c.log'], 'x'.repeat(100));
  await settled(traces);
  assert.equal(traces.list()[0]?.ended, 'full');
  const text = textOf('c.log');
  assert.ok(text.length <= 4000);
  assert.match(text, /trace\.ended reason=full\n$/);
});

test('a line goes to its traces, with its worker, and its payload to those at debug', async (t) => {
  const { fake, traces, textOf } = start(t);
  await traces.start({ by: 'client', of: 'a', file: 'a.log', level: 'debug' });
  await traces.start({ by: 'client', of: 'b', file: 'b.log', level: 'info' });
  await traces.start({ by: 'client', of: 'c', file: 'c.log' });
  fake.say(['a.log', 'b.log', 'gone.log'], 'line');
  fake.say([], 'nobody', 7);
  for (const name of ['a.log', 'b.log', 'c.log']) await traces.stop(name);
  assert.match(textOf('a.log'), /\nline worker=3 payload="p"\n.* trace\.lost lines=7 worker=3\n/);
  assert.match(textOf('b.log'), /\nline worker=3\n.* trace\.lost/);
  assert.doesNotMatch(textOf('c.log'), /line worker|nobody/);
  assert.match(textOf('a.log'), /^# trace of client=a level=debug\n/);
});

test('workers are told what was taken of their lines, one message at a time', async (t) => {
  const { fake } = start(t);
  for (let i = 0; i < 5; i++) fake.say([], 'four');
  assert.deepEqual(fake.taken, [[{ tracer: 'x', lines: 1, chars: 4 }]]);
  await turn();
  await turn();
  assert.deepEqual(fake.taken[1], [{ tracer: 'x', lines: 4, chars: 16 }]);
  assert.equal(fake.taken.length, 2);
});

test('a trace that the workers cannot be told of is none', async (t) => {
  const { fake, traces } = start(t);
  fake.isDeaf = true;
  await assert.rejects(traces.start({ by: 'client', of: 'c', file: 'c.log' }), { code: 101 });
  assert.deepEqual(
    traces.list().map(({ ended }) => ended),
    ['failed'],
  );
  fake.isDeaf = false;
  await traces.start({ by: 'client', of: 'c', file: 'c.log' });
  assert.deepEqual(
    traces.list().map(({ ended }) => ended),
    [undefined],
  );
});

test('so many traces that have ended are remembered, the last first', async (t) => {
  const { traces } = start(t);
  for (let i = 0; i < 55; i++) {
    await traces.start({ by: 'client', of: `c${i}`, file: `c${i}.log` });
    await traces.stop(`c${i}.log`);
  }
  const names = traces.list().map(({ name }) => name);
  assert.equal(names.length, 50);
  assert.equal(names[0], 'c54.log');
  await assert.rejects(traces.download('c0.log'), { code: 404 });
});

test('two that start the same trace at once are one and a refusal', async (t) => {
  const { traces } = start(t);
  const both = await Promise.allSettled([
    traces.start({ by: 'topic', of: 't', file: 'a.log' }),
    traces.start({ by: 'topic', of: 't', file: 'b.log' }),
  ]);
  assert.deepEqual(
    both.map(({ status }) => status),
    ['fulfilled', 'rejected'],
  );
});

test('who reads along is told when the trace ends, and one who has left is forgotten', async (t) => {
  const { fake, traces } = start(t);
  await traces.start({ by: 'topic', of: 't', file: 't.log' });
  const leaving = new AbortController();
  for (let i = 0; i < 9; i++) traces.tail('t.log', leaving.signal);
  const staying = new AbortController();
  const read = Array.fromAsync(traces.tail('t.log', staying.signal));
  assert.throws(() => traces.tail('t.log', staying.signal), { code: 429 });
  leaving.abort();
  traces.tail('t.log', AbortSignal.abort());
  fake.say(['t.log'], 'line');
  await traces.stop('t.log');
  const text = (await read).join('');
  assert.match(
    text,
    /event: line\ndata: line worker=3 payload="p"\n\nevent: end\ndata: stopped\n\n$/,
  );
});
