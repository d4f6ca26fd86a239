// Laws: a client id has one owner, whatever dies; a successor reads the store when everything that its
// predecessor told is there and nobody speaks for it any more; a worker that dies again and again ends
// the node.

import assert from 'node:assert/strict';
import test from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { ListSlice } from './list-verbs.ts';
import { columnsOf } from './row-columns.ts';
import { WorkersBench } from './workers-fixture.ts';

function bench(t: test.TestContext, count = 3): WorkersBench {
  const made = new WorkersBench(count);
  t.after(() => made.end());
  return made;
}

async function started(t: test.TestContext, count = 3): Promise<WorkersBench> {
  const made = bench(t, count);
  await made.workers.start();
  await made.take();
  return made;
}

const request = { cleanStart: false, provenUsername: undefined, mountpoint: '' };

test('workers are restored, then connected, then listen, the first one first', async (t) => {
  const made = bench(t);
  made.onSpawn = ({ answers, index }) => {
    answers.restore = () => ({ clientIds: [`c${index}`] });
    answers.begin = () => 1;
  };
  let early: string[] = [];
  const report = await made.workers.start(async () => {
    early = await made.take();
  });
  assert.deepEqual(report, { ports: [1883], sessions: 3, wills: 3 });
  assert.ok(!early.includes('0.0 begin true'), 'what is due happens under what `before` sets up');
  const asked = [...early, ...(await made.take())];
  const at = (line: string): number => {
    assert.ok(asked.includes(line), `${line} in ${asked.join('; ')}`);
    return asked.indexOf(line);
  };
  const restored = [0, 1, 2].map((i) => at(`${i}.0 restore share`));
  const peers = ['0.0 peerUp 1', '1.0 peerUp 0', '0.0 peerUp 2', '1.0 peerUp 2', '2.0 peerUp 0'];
  const connected = peers.map(at);
  assert.ok(Math.max(...restored) < Math.min(...connected));
  assert.ok(Math.max(...connected) < at('0.0 begin true'));
  assert.ok(at('0.0 begin true') < at('0.0 listen anywhere'));
  assert.ok(at('0.0 listen anywhere') < at('1.0 listen 1883'));
  assert.equal(made.workers.registry.ownerOf('c2'), 2);
});

test('the others hear of a death, and the store is left, before there is a successor', async (t) => {
  const made = await started(t);
  made.isStoreQuick = false;
  const told = Promise.withResolvers<void>();
  made.worker(0).answers.peerDown = () => told.promise;
  const { storeLeft } = made.worker(1);
  made.worker(1).die();
  assert.deepEqual((await made.take()).sort(), ['0.0 peerDown 1', '2.0 peerDown 1']);
  assert.equal(made.started.length, 3, 'one has not answered, and the store has not ended');
  told.resolve();
  await made.take();
  assert.equal(made.started.length, 3, 'the store has not ended');
  storeLeft.resolve();
  const asked = await made.take();
  assert.deepEqual(
    asked.filter((line) => line.startsWith('1.1')),
    ['1.1 restore []', '1.1 peerUp 0', '1.1 peerUp 2', '1.1 begin false', '1.1 listen 1883'],
  );
  assert.deepEqual(made.forgotten, [1]);
});

test('a successor restores the ids that its predecessor owned, and no others', async (t) => {
  const made = await started(t);
  for (const [worker, clientId] of [
    [0, 'a'],
    [1, 'b'],
    [1, 'c'],
    [1, 'gone'],
  ] as const) {
    made.worker(worker).calls.tell('claim', [1, { ...request, clientId }]);
  }
  made.worker(1).calls.tell('release', ['gone']);
  await made.take();
  made.onSpawn = ({ answers }) => {
    answers.restore = () => ({ clientIds: ['b'] });
  };
  made.worker(1).die();
  const asked = await made.takeOf('1.1');
  assert.equal(asked[0], '1.1 restore [b,c]');
  const { registry } = made.workers;
  assert.deepEqual(
    ['a', 'b', 'c'].map((id) => registry.ownerOf(id)),
    [0, 1, undefined],
  );
});

test('a claim for an id of a dead worker is granted when its successor has given it up', async (t) => {
  const made = await started(t);
  made.worker(1).calls.tell('claim', [1, { ...request, clientId: 'x' }]);
  await made.take();
  made.isStoreQuick = false;
  const { storeLeft } = made.worker(1);
  made.worker(1).die();
  await made.take();
  made.worker(0).calls.tell('claim', [7, { ...request, clientId: 'x' }]);
  assert.deepEqual(await made.takeOf('0.0'), []);
  storeLeft.resolve();
  const asked = await made.take();
  assert.ok(asked.indexOf('1.1 restore [x]') < asked.indexOf('1.1 giveUp x 0'));
  assert.ok(asked.indexOf('1.1 giveUp x 0') < asked.indexOf('0.0 granted 7'));
});

test('when a giver dies the claimant is asked whether the session came, after it knows of the death', async (t) => {
  const made = await started(t);
  made.worker(1).calls.tell('claim', [1, { ...request, clientId: 'x' }]);
  await made.take();
  made.worker(1).answers.giveUp = () => new Promise(() => undefined);
  made.worker(0).answers.hasSession = async () => true;
  made.worker(0).calls.tell('claim', [2, { ...request, clientId: 'x' }]);
  await made.take();
  made.worker(1).die();
  const asked = await made.take();
  const of0 = asked.filter((line) => line.startsWith('0.0'));
  assert.deepEqual(of0.slice(0, 3), ['0.0 peerDown 1', '0.0 hasSession x', '0.0 granted 2']);
  assert.ok(asked.includes('1.1 restore []'), "it is not the successor's");
  assert.equal(made.workers.registry.ownerOf('x'), 0);
});

test('there is no successor before it is known what it has to restore', async (t) => {
  const made = await started(t);
  made.worker(1).calls.tell('claim', [1, { ...request, clientId: 'x' }]);
  await made.take();
  made.worker(1).answers.giveUp = () => new Promise(() => undefined);
  const arrived = Promise.withResolvers<boolean>();
  made.worker(0).answers.hasSession = () => arrived.promise;
  made.worker(0).calls.tell('claim', [2, { ...request, clientId: 'x' }]);
  await made.take();
  made.worker(1).die();
  await made.take();
  assert.equal(made.started.length, 3);
  arrived.resolve(false);
  assert.equal((await made.takeOf('1.1'))[0], '1.1 restore [x]');
});

test('the successor of a giver gets the session that did not come, and gives it up', async (t) => {
  const made = await started(t);
  made.worker(1).calls.tell('claim', [1, { ...request, clientId: 'x' }]);
  await made.take();
  made.worker(1).answers.giveUp = () => new Promise(() => undefined);
  made.worker(0).calls.tell('claim', [2, { ...request, clientId: 'x' }]);
  await made.take();
  made.worker(1).die();
  const asked = await made.take();
  const order = ['1.1 restore [x]', '1.1 giveUp x 0', '0.0 granted 2'];
  assert.deepEqual(
    asked.filter((line) => order.includes(line)),
    order,
  );
});

test('one that dies while it is restored is started once more', async (t) => {
  const made = await started(t);
  made.onSpawn = (worker) => {
    if (worker.life === 1) worker.answers.restore = () => worker.die() as never;
  };
  made.worker(1).die();
  await made.take();
  assert.equal(made.worker(1).name, '1.2');
  assert.deepEqual(made.hopeless, []);
  assert.equal(made.alarm('worker/1')?.['deaths'], 2);
});

test('one that dies while another is being connected keeps neither of them down', async (t) => {
  const made = await started(t);
  made.onSpawn = (worker) => {
    if (worker.name !== '1.1') return;
    // As a real one: a greeting that never comes is over when it is told of the death.
    const greeted = Promise.withResolvers<void>();
    worker.answers.peerUp = (index) => {
      if (index !== 2 || made.worker(2).life > 0) return Promise.resolve();
      made.worker(2).die();
      return greeted.promise;
    };
    worker.answers.peerDown = async (index) => {
      if (index === 2) greeted.resolve();
    };
  };
  made.worker(2).answers.peerUp = () => new Promise(() => undefined);
  made.worker(1).die();
  const asked = await made.take();
  assert.ok(asked.includes('1.1 listen 1883'), asked.join('; '));
  assert.ok(asked.includes('2.1 listen 1883'), asked.join('; '));
});

test('workers that die at the same time are all replaced', async (t) => {
  const made = await started(t);
  made.isStoreQuick = false;
  const stores = [0, 1, 2].map((i) => made.worker(i).storeLeft);
  for (let i = 0; i < 3; i++) {
    // Each has been told of the deaths before its own, and does not answer any more.
    made.worker(i).answers.peerDown = () => new Promise(() => undefined);
  }
  made.worker(0).die();
  await turn();
  made.worker(1).die();
  await turn();
  made.worker(2).die();
  await made.take();
  made.isStoreQuick = true;
  for (const { resolve } of stores) resolve();
  const asked = await made.take();
  for (const i of [0, 1, 2]) assert.ok(asked.includes(`${i}.1 listen 1883`), asked.join('; '));
});

test('more than five deaths in a minute end the node', async (t) => {
  const made = await started(t);
  for (let i = 0; i < 5; i++) {
    made.worker(i % 3).die();
    await made.take();
  }
  assert.deepEqual(made.hopeless, []);
  const before = made.started.length;
  made.worker(0).answers.peerDown = () => new Promise(() => undefined);
  made.worker(2).die();
  await made.take();
  assert.match(String(made.hopeless[0]), /died 6 times/);
  assert.equal(made.started.length, before, 'nobody is started for that');
  await made.workers.stop();
});

test('deaths that are further apart than a minute do not add up', async (t) => {
  const made = await started(t);
  for (let i = 0; i < 12; i++) {
    made.worker(0).die();
    await made.take();
    made.clock.advance(20_000);
  }
  assert.deepEqual(made.hopeless, []);
});

test('an alarm names the dead worker until its successor has lived for a minute', async (t) => {
  const made = await started(t);
  made.worker(1).die(new Error('out of memory'));
  await made.take();
  assert.match(String(made.alarm('worker/1')?.['error']), /out of memory/);
  made.clock.advance(40_000);
  made.worker(1).die();
  await made.take();
  made.clock.advance(40_000);
  assert.ok(made.alarm('worker/1') !== undefined, 'the first successor is dead as well');
  made.clock.advance(20_000);
  assert.equal(made.alarm('worker/1'), undefined);
});

test('the alarms of a worker end with it', async (t) => {
  const made = await started(t);
  made.worker(1).calls.tell('alarm', ['raised', 'store', { error: 'full' }]);
  await made.take();
  assert.deepEqual(made.alarm('store'), { error: 'full', worker: 1 });
  made.worker(1).die();
  await made.take();
  assert.equal(made.alarm('store'), undefined);
});

test('stopping asks everybody to stop, ends them, and starts nobody', async (t) => {
  const made = await started(t);
  await made.workers.stop();
  const asked = await made.take();
  assert.deepEqual(asked.sort(), ['0.0 stop', '1.0 stop', '2.0 stop']);
  assert.ok(made.started.every(({ isTerminated }) => isTerminated));
  assert.equal(made.started.length, 3);
  assert.equal(made.alarm('worker/0'), undefined);
});

test('stopping does not wait for ever for one that does not answer', async (t) => {
  const made = await started(t);
  made.worker(1).answers.stop = () => new Promise(() => undefined);
  const stopped = made.workers.stop();
  await made.take();
  made.clock.advance(10_000);
  await stopped;
  assert.ok(made.started.every(({ isTerminated }) => isTerminated));
});

test('nobody is started after stopping, though a death was being recovered from', async (t) => {
  const made = await started(t);
  const { storeLeft } = made.worker(1);
  made.isStoreQuick = false;
  made.worker(1).die();
  await made.take();
  await made.workers.stop();
  storeLeft.resolve();
  await made.take();
  assert.equal(made.started.length, 3);
});

test('a client is kicked where it is', async (t) => {
  const made = await started(t);
  made.worker(2).calls.tell('claim', [1, { ...request, clientId: 'x' }]);
  await made.take();
  assert.equal(await made.workers.asking.atClient('x', 'kick', ['x']), true);
  assert.equal(await made.workers.asking.atClient('nobody', 'kick', ['nobody']), undefined);
  assert.deepEqual(await made.take(), ['2.0 kick x']);
});

test('everybody is asked at once, and who does not answer in time is named', async (t) => {
  const made = await started(t);
  const page = (clientId: string): ListSlice => ({
    columns: columnsOf([{ clientId }]),
    next: undefined,
  });
  made.worker(0).answers.list = () => page('a');
  made.worker(1).answers.list = () => new Promise(() => undefined) as never;
  made.worker(2).answers.list = () => page('c');
  const listed = made.workers.asking.everywhere('list', ['sessions', undefined], 1000);
  await made.take();
  made.clock.advance(1000);
  const { answers, missing } = await listed;
  assert.deepEqual(answers, [
    ['worker 0', page('a')],
    ['worker 2', page('c')],
  ]);
  assert.deepEqual(
    missing.map(([name]) => name),
    ['worker 1'],
  );
});

test('what is upheld is told to everybody, and to a successor before it begins and listens', async (t) => {
  const made = await started(t);
  await made.workers.asking.uphold('keepClosed', [[1]]);
  assert.deepEqual(
    await made.take(),
    [0, 1, 2].map((i) => `${i}.0 keepClosed 1`),
  );
  made.worker(1).die();
  const asked = await made.takeOf('1.1');
  // Begun under nothing, it would publish wills that hooks and rules have a say in.
  assert.deepEqual(asked.slice(-3), ['1.1 keepClosed 1', '1.1 begin false', '1.1 listen 1883']);
});

test('what is upheld while a successor starts is what it holds when it listens', async (t) => {
  const made = await started(t);
  await made.workers.asking.uphold('keepClosed', [[1]]);
  const begun = Promise.withResolvers<number>();
  made.onSpawn = ({ answers }) => {
    answers.begin = () => begun.promise as never;
  };
  made.worker(1).die();
  await made.take();
  await made.workers.asking.uphold('keepClosed', [[2]]);
  const told = await made.takeOf('1.1');
  begun.resolve(0);
  const asked = await made.takeOf('1.1');
  assert.deepEqual([...told, ...asked], ['1.1 keepClosed 2', '1.1 listen 1883']);
});

test('a worker that dies while it is told what is upheld leaves it to its successor', async (t) => {
  const made = await started(t);
  made.worker(1).answers.keepClosed = () => new Promise(() => undefined);
  const upheld = made.workers.asking.uphold('keepClosed', [[1]]);
  await made.take();
  made.worker(1).die();
  await upheld;
  assert.ok((await made.takeOf('1.1')).includes('1.1 keepClosed 1'));
});

test('what a worker refuses to uphold is a failure', async (t) => {
  const made = await started(t);
  made.worker(1).answers.keepClosed = async () => {
    throw new RangeError('not this one');
  };
  await assert.rejects(made.workers.asking.uphold('keepClosed', [[1]]), /not this one/);
});

test('of two successors that are let in together the one that fails is started again', async (t) => {
  const made = await started(t);
  made.onSpawn = ({ index, life, answers }) => {
    if (index !== 0 || life !== 1) return;
    answers.begin = () => {
      throw new Error('not yet');
    };
  };
  made.isStoreQuick = false;
  const left = [0, 1].map((i) => made.worker(i).storeLeft);
  made.worker(0).die();
  made.worker(1).die();
  made.isStoreQuick = true;
  for (const { resolve } of left) resolve();
  const asked = await made.take();
  assert.ok(asked.includes('1.1 listen 1883'), asked.join('; '));
  assert.ok(asked.includes('0.2 listen 1883'), asked.join('; '));
  assert.equal(made.started.length, 6, 'nobody else was started again');
  assert.deepEqual(made.hopeless, []);
});
