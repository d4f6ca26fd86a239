import assert from 'node:assert/strict';
import { once } from 'node:events';
import test, { type TestContext } from 'node:test';
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { Calls, type CallTable } from './calls.ts';
import { VirtualClock } from './clock.ts';

interface Pair<Ours extends CallTable> {
  readonly near: Calls<Ours, Record<never, never>>;
  readonly far: Calls<Record<never, never>, Ours>;
  readonly farPort: MessagePort;
  readonly clock: VirtualClock;
  readonly faults: unknown[];
  /** Messages that arrived at the far end. */
  readonly batches: unknown[];
}

/** Two ends in one thread; the far one answers. */
function pairOf<Ours extends CallTable>(
  t: TestContext,
  ours: Ours,
  waitingMax?: number,
): Pair<Ours> {
  const { port1, port2 } = new MessageChannel();
  const clock = new VirtualClock();
  const faults: unknown[] = [];
  const batches: unknown[] = [];
  const onFault = (error: unknown): unknown => faults.push(error);
  const near = new Calls<Ours, Record<never, never>>({
    port: port1,
    ours: {},
    clock,
    peer: 'worker 2',
    onFault,
    waitingMax,
  });
  const far = new Calls<Record<never, never>, Ours>({
    port: port2,
    ours,
    clock,
    peer: 'control',
    onFault,
  });
  port2.on('message', (batch) => batches.push(batch));
  t.after(() => near.close());
  return { near, far, farPort: port2, clock, faults, batches };
}

test('a call is answered by a value or by the value of a promise', async (t) => {
  const { near, clock } = pairOf(t, {
    add: (a: number, b: number) => a + b,
    later: async (text: string) => new Map([[text, 1]]),
  });
  const sum: number = await near.call('add', [2, 3], 1000);
  assert.equal(sum, 5);
  assert.deepEqual(await near.call('later', ['x'], 1000), new Map([['x', 1]]));
  assert.equal(near.waitingCount, 0);
  assert.equal(clock.timerCount, 0, 'an answered call leaves no timer');
});

test('calls and tells of one turn arrive as one message in the order they were made', async (t) => {
  const heard: string[] = [];
  const { near, batches } = pairOf(t, {
    ask: (text: string) => heard.push(text),
    note: (text: string) => void heard.push(text),
  });
  near.tell('note', ['a']);
  const answer = near.call('ask', ['b'], 1000);
  near.tell('note', ['c']);
  await near.call('ask', ['d'], 1000);
  assert.equal(await answer, 2);
  assert.deepEqual(heard, ['a', 'b', 'c', 'd']);
  assert.equal(batches.length, 1);
});

test('calls flushed by their owner do not wait for the end of the turn', async (t) => {
  const { near, batches } = pairOf(t, { echo: (n: number) => n });
  const answers = [near.call('echo', [1], 1000)];
  near.flush();
  answers.push(near.call('echo', [2], 1000));
  assert.deepEqual(await Promise.all(answers), [1, 2]);
  assert.equal(batches.length, 2);
});

test('a call that is not answered in time is rejected, and its late answer ignored', async (t) => {
  const { promise, resolve } = Promise.withResolvers<string>();
  const { near, clock, faults } = pairOf(t, { slow: () => promise, quick: () => 'quick' });
  const slow = near.call('slow', [], 500);
  await near.call('quick', [], 1000);
  clock.advance(499);
  assert.equal(near.waitingCount, 1);
  clock.advance(1);
  await assert.rejects(slow, {
    name: 'CallError',
    code: 'call_deadline',
    message: 'Cannot call "slow" of worker 2: no answer within 500 ms',
  });
  resolve('late');
  assert.equal(await near.call('quick', [], 1000), 'quick');
  assert.deepEqual(faults, []);
});

test('a call without a deadline waits for its answer however long', async (t) => {
  const { promise, resolve } = Promise.withResolvers<string>();
  const { near, clock } = pairOf(t, { slow: () => promise });
  const slow = near.call('slow', [], Number.POSITIVE_INFINITY);
  assert.equal(clock.timerCount, 0);
  resolve('at last');
  assert.equal(await slow, 'at last');
});

test('what an implementation throws rejects its caller with name, message and code', async (t) => {
  const thrown = Object.assign(new RangeError('Cannot claim "c": taken'), { code: 'ETAKEN' });
  const { near, faults } = pairOf(t, {
    throws: () => {
      throw thrown;
    },
    rejects: async () => {
      throw new Error('no');
    },
    throwsText: () => {
      // oxlint-disable-next-line no-throw-literal
      throw 'a text';
    },
  });
  const error: unknown = await near.call('throws', [], 1000).catch((caught: unknown) => caught);
  assert.ok(error instanceof Error);
  const { name, message, code } = error as NodeJS.ErrnoException;
  assert.deepEqual([name, message, code], ['RangeError', 'Cannot claim "c": taken', 'ETAKEN']);
  await assert.rejects(near.call('rejects', [], 1000), { name: 'Error', message: 'no' });
  await assert.rejects(near.call('throwsText', [], 1000), { message: 'a text' });
  assert.deepEqual(faults, []);
});

test('a call of a name that the other side does not have is rejected', async (t) => {
  const { near, faults } = pairOf(t, {} as { [name: string]: () => void });
  for (const name of ['missing', 'constructor']) {
    await assert.rejects(near.call(name, [], 1000), {
      name: 'CallError',
      code: 'call_unknown',
      message: `Cannot answer call "${name}": there is none`,
    });
  }
  assert.deepEqual(faults, []);
});

test('a tell that fails is a fault of the side that failed', async (t) => {
  const { near, faults } = pairOf(t, {
    throws: () => {
      throw new Error('first');
    },
    rejects: async () => {
      throw new Error('second');
    },
    done: () => true,
  });
  near.tell('throws', []);
  near.tell('rejects', []);
  await near.call('done', [], 1000);
  assert.deepEqual(
    faults.map((error) => (error as Error).message),
    ['first', 'second'],
  );
});

test('a port that closes rejects whoever waits and whoever calls later', async (t) => {
  const { near, far, clock } = pairOf(t, { never: () => new Promise<void>(() => {}) });
  const first = near.call('never', [], 1000);
  const second = near.call('never', [], Number.POSITIVE_INFINITY);
  const expected = {
    name: 'CallError',
    code: 'call_closed',
    message: 'Cannot call "never" of worker 2: the port is closed',
  };
  const rejections = [assert.rejects(first, expected), assert.rejects(second, expected)];
  far.close();
  await Promise.all([...rejections, near.closed, far.closed]);
  assert.equal(clock.timerCount, 0);
  await assert.rejects(near.call('never', [], 1000), expected);
  near.tell('never', []);
  near.close();
});

test('what was said before a close still arrives', async (t) => {
  const heard: number[] = [];
  const { near, far } = pairOf(t, { note: (n: number) => void heard.push(n) });
  near.tell('note', [1]);
  near.tell('note', [2]);
  near.close();
  await far.closed;
  assert.deepEqual(heard, [1, 2]);
});

test('an implementation that closes the port ends the batch it came in', async (t) => {
  const heard: string[] = [];
  const { near, far } = pairOf(t, {
    note: (text: string) => {
      heard.push(text);
      if (text === 'last') far.close();
    },
  });
  near.tell('note', ['first']);
  near.tell('note', ['last']);
  near.tell('note', ['too late']);
  await near.closed;
  assert.deepEqual(heard, ['first', 'last']);
});

test('calls over the limit are rejected at once, and there is room again after an answer', async (t) => {
  const { near } = pairOf(t, { echo: (n: number) => n }, 2);
  const allowed = [near.call('echo', [1], 1000), near.call('echo', [2], 1000)];
  await assert.rejects(near.call('echo', [3], 1000), {
    code: 'call_limit',
    message: 'Cannot call "echo" of worker 2: 2 calls wait',
  });
  assert.deepEqual(await Promise.all(allowed), [1, 2]);
  assert.equal(await near.call('echo', [4], 1000), 4);
});

test('what cannot be cloned fails alone, others of its turn arrive', async (t) => {
  const heard: unknown[] = [];
  const { near, faults } = pairOf(t, {
    note: (value: unknown) => void heard.push(value),
    giveFunction: () => () => 1,
    bytes: (memory: ArrayBuffer) => memory.byteLength,
  });
  const memory = new ArrayBuffer(8);
  near.tell('note', ['before']);
  const refused = near.call('note', [() => 1], 1000);
  near.tell('note', [() => 2]);
  const moved = near.call('bytes', [memory], 1000, [memory]);
  near.tell('note', ['after']);
  await assert.rejects(refused, { name: 'DataCloneError' });
  assert.equal(await moved, 8);
  assert.equal(memory.byteLength, 0, 'it was moved');
  await assert.rejects(near.call('giveFunction', [], 1000), { name: 'DataCloneError' });
  assert.deepEqual(heard, ['before', 'after']);
  assert.deepEqual(
    faults.map((error) => (error as Error).name),
    ['DataCloneError'],
  );
  assert.equal(near.waitingCount, 0);
});

test('memory and ports of several entries are moved, not copied', async (t) => {
  const { near } = pairOf(t, {
    bytes: (memory: ArrayBuffer) => memory.byteLength,
    greet: (port: MessagePort) => port.postMessage('hello'),
  });
  const { port1, port2 } = new MessageChannel();
  const memories = [new ArrayBuffer(4), new ArrayBuffer(5)] as const;
  const answers = memories.map((memory) => near.call('bytes', [memory], 1000, [memory]));
  near.tell('greet', [port2], [port2]);
  assert.deepEqual(await Promise.all(answers), [4, 5]);
  assert.deepEqual(
    memories.map((memory) => memory.byteLength),
    [0, 0],
  );
  assert.deepEqual(await once(port1, 'message'), ['hello']);
  port1.close();
});

test('a thread that ends rejects the calls that wait for it', async (t) => {
  const { port1, port2 } = new MessageChannel();
  const body = `
    const { workerData } = require('node:worker_threads');
    workerData.once('message', () => process.exit());
  `;
  const worker = new Worker(body, { eval: true, workerData: port2, transferList: [port2] });
  const near = new Calls<{ die: () => void }, Record<never, never>>({
    port: port1,
    ours: {},
    clock: new VirtualClock(),
    peer: 'worker 0',
    onFault: (error) => assert.fail(String(error)),
  });
  t.after(() => worker.terminate());
  await assert.rejects(near.call('die', [], 1000), { code: 'call_closed' });
  await near.closed;
});

test('a daemon does not keep its thread alive', async (t) => {
  const body = `
    const { workerData } = require('node:worker_threads');
    import(workerData.module).then(({ Calls }) => {
      const { port, isDaemon } = workerData;
      const clock = { setTimer: () => ({ cancel() {} }) };
      new Calls({ port, ours: {}, clock, peer: 'x', onFault: () => {}, isDaemon });
    });
  `;
  const { port1, port2 } = new MessageChannel();
  const module = new URL('calls.ts', import.meta.url).href;
  const worker = new Worker(body, {
    eval: true,
    workerData: { module, port: port2, isDaemon: true },
    transferList: [port2],
  });
  t.after(() => worker.terminate());
  port1.unref();
  assert.deepEqual(await once(worker, 'exit', { signal: AbortSignal.timeout(10_000) }), [0]);
});
