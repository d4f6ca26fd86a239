import assert from 'node:assert/strict';
import { once } from 'node:events';
import test from 'node:test';
import { Worker } from 'node:worker_threads';
import { TransactionGate } from './transaction-gate.ts';

test('TransactionGate lets one transaction after another pass until it is closed', () => {
  const gate = new TransactionGate();
  const passed: number[] = [];
  gate.pass(() => passed.push(1));
  new TransactionGate(gate.memory).pass(() => passed.push(2));
  assert.equal(gate.close(0), true);
  gate.pass(() => passed.push(3));
  assert.deepEqual(passed, [1, 2]);
  assert.equal(gate.close(0), true);
});

test('TransactionGate is not closed while a transaction is under way', () => {
  const gate = new TransactionGate();
  gate.pass(() => assert.equal(gate.close(0), false));
  assert.equal(gate.close(0), true);
});

test('TransactionGate is free again after a transaction that threw', () => {
  const gate = new TransactionGate();
  const fail = (): never => {
    throw new Error('it failed');
  };
  assert.throws(() => gate.pass(fail), /it failed/);
  assert.equal(gate.close(0), true);
});

test('TransactionGate waits for the transaction of another thread', async () => {
  const gate = new TransactionGate();
  const progress = new Int32Array(new SharedArrayBuffer(4));
  const code = `import { parentPort, workerData } from 'node:worker_threads';
    const { TransactionGate } = await import(workerData.module);
    new TransactionGate(workerData.memory).pass(() => {
      parentPort.postMessage('inside');
      Atomics.wait(workerData.progress, 0, 0);
      for (let i = 0; i < 1e7; i += 1) workerData.progress[0] = i;
      workerData.progress[0] = -1;
    });`;
  const entry = new URL(`data:text/javascript,${encodeURIComponent(code)}`);
  const module = new URL('transaction-gate.ts', import.meta.url).href;
  const worker = new Worker(entry, { workerData: { module, memory: gate.memory, progress } });
  await once(worker, 'message');
  assert.equal(gate.close(0), false);
  Atomics.store(progress, 0, 1);
  Atomics.notify(progress, 0);
  assert.equal(gate.close(30_000), true);
  assert.equal(progress[0], -1);
  await once(worker, 'exit');
});
