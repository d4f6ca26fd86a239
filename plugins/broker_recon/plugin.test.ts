import assert from 'node:assert/strict';
import test from 'node:test';
import mqtt from 'mqtt';
import { type Managed, startManaged } from '#test/managed';
import { AllocationWatch, summed } from './allocations.ts';
import { collectGarbage } from './collect.ts';
import { sumOf } from './control.ts';
import { HeapWatch } from './heap-watch.ts';
import { measurePulse } from './pulse.ts';

async function figures(
  managed: Managed,
  ...words: readonly string[]
): Promise<Map<string, number>> {
  const { stdout, stderr, code } = await managed.ctl('recon', ...words);
  assert.deepEqual([stderr, code], ['', 0]);
  const lines = stdout
    .trimEnd()
    .split('\n')
    .map((line) => /^(\S+) *: (\S+)$/.exec(line));
  return new Map(lines.flatMap((found) => (found ? [[found[1] ?? '', Number(found[2])]] : [])));
}

test('a collection frees what nobody holds', async () => {
  let held: object | undefined = { bytes: Buffer.alloc(1 << 20) };
  const seen = new WeakRef(held);
  held = undefined;
  // A WeakRef holds its object until the job that made it is over.
  await new Promise(setImmediate);
  await collectGarbage();
  assert.equal(seen.deref(), undefined);
});

test('a heap remembers its highest value', async () => {
  const watch = new HeapWatch();
  let held: Buffer[] | undefined = Array.from({ length: 8 }, () => Buffer.alloc(4 << 20));
  const high = watch.read().spaces['external'];
  assert.ok(high !== undefined && high.current >= 32 << 20);
  assert.equal(held.length, 8);
  held = undefined;
  await collectGarbage();
  const low = watch.read().spaces['external'];
  assert.ok(low !== undefined && low.current < high.current - (16 << 20), `${low?.current}`);
  assert.ok(low.max >= high.current);
});

test('the sum of threads adds what is and what was', () => {
  const sum = sumOf([
    { current: 1, max: 5 },
    { current: 2, max: 2 },
  ]);
  assert.deepEqual(sum, { current: 3, max: 7 });
  assert.deepEqual(sumOf([]), { current: 0, max: 0 });
});

test('allocations are summed by function, whichever way led there', () => {
  const frame = (functionName: string, url = '', lineNumber = 0) => {
    return { functionName, url, lineNumber, scriptId: '1', columnNumber: 0 };
  };
  const here = new URL('x.ts', import.meta.url).href;
  const node = (callFrame: object, selfSize: number, ...children: object[]) =>
    ({ callFrame, selfSize, children, id: 1 }) as unknown as Parameters<typeof summed>[0];
  const head = node(
    frame('(root)'),
    0,
    node(frame('a', here, 6), 10, node(frame('', 'node:net', 2), 5)),
    node(frame('b'), 1, node(frame('a', here, 6), 20)),
  );
  assert.deepEqual(summed(head), {
    bytes: 36,
    top: [
      { function: 'a', at: 'plugins/broker_recon/x.ts:7', bytes: 30 },
      { function: '(anonymous)', at: 'node:net:3', bytes: 5 },
      { function: 'b', at: '', bytes: 1 },
    ],
  });
});

test('a thread is watched by one at a time, and is free again', async () => {
  using watch = new AllocationWatch();
  assert.equal(await watch.end(), undefined);
  await watch.begin();
  await assert.rejects(watch.begin(), /Cannot watch allocations: it is under way/);
  let held: unknown[] = [];
  function allocateHere(): void {
    for (let i = 0; i < 1_000_000; i++) held.push({ i, text: [i] });
  }
  allocateHere();
  held = [];
  const { bytes = 0, top = [] } = (await watch.end()) ?? {};
  assert.ok(bytes > 10_000_000, `${bytes}`);
  const one = top.find(({ function: name }) => name === 'allocateHere');
  assert.match(one?.at ?? '', /^plugins\/broker_recon\/plugin\.test\.ts:\d+$/);
  assert.equal(held.length, 0);
  await watch.begin();
});

test('a measurement ends when the plugin is unloaded', async () => {
  const controller = new AbortController();
  const measured = measurePulse(600_000, controller.signal);
  controller.abort();
  await assert.rejects(measured, { name: 'AbortError' });
});

for (const workers of [0, 2]) {
  test(`recon counts every thread once, with ${workers} workers`, async () => {
    await using managed = await startManaged({
      workers,
      settings: { allow_anonymous: 'true', acl_nomatch: 'allow' },
    });
    const memory = await figures(managed, 'memory');
    const of = (key: string): number => memory.get(key) ?? Number.NaN;
    for (const peak of ['current', 'max']) {
      assert.ok(of(`used/${peak}`) > 0);
      assert.equal(of(`unused/${peak}`), of(`allocated/${peak}`) - of(`used/${peak}`));
      const usage = of(`used/${peak}`) / of(`allocated/${peak}`);
      assert.equal(of(`usage/${peak}`), Number(usage.toFixed(2)));
    }
    assert.ok(of('allocated/max') >= of('allocated/current'));
    const spaces = await figures(managed, 'allocated');
    assert.ok((spaces.get('old_space/current') ?? 0) > 0);
    assert.ok((spaces.get('external/max') ?? 0) >= (spaces.get('external/current') ?? 1));
    const { stdout } = await managed.ctl('recon', 'bin_leak');
    const threads = [...stdout.matchAll(/^ {2}(.+): before=\d+, after=\d+, freed=\d+$/gm)];
    assert.deepEqual(
      threads.map(([, thread]) => thread ?? '').toSorted((a, b) => (a < b ? -1 : 1)),
      workers === 0 ? ['worker 0'] : ['control', 'worker 0', 'worker 1'],
    );
  });

  test(`top_allocations names functions of each thread once, with ${workers} workers`, async () => {
    await using managed = await startManaged({
      workers,
      settings: { allow_anonymous: 'true', acl_nomatch: 'allow' },
    });
    const client = await mqtt.connectAsync({ port: managed.mqttPort, reconnectPeriod: 0 });
    let isOver = false;
    const publishing = (async () => {
      while (!isOver) {
        const some = Array.from({ length: 100 }, () =>
          client.publishAsync('t', Buffer.alloc(8000), { qos: 1 }),
        );
        await Promise.all(some);
      }
    })();
    const all = managed.ctl('recon', 'top_allocations', '2');
    const second = managed.ctl('recon', 'top_allocations', '1');
    const [{ stdout, code }, refused] = await Promise.all([all, second]);
    isOver = true;
    await publishing;
    await client.endAsync();
    assert.equal(code, 0);
    const threads = [...stdout.matchAll(/^(\S.*): allocated=\d+$/gm)].map(([, thread]) => thread);
    const wanted = workers === 0 ? ['worker 0'] : ['control', 'worker 0', 'worker 1'];
    assert.deepEqual(threads, wanted);
    assert.match(stdout, /^ +\d+ +[\d.]+% {2}\S.* \S+:\d+$/m);
    assert.match(refused.stderr, /Cannot watch allocations: somebody else does, try later/);
    assert.equal(refused.code, 1);
    const one = await managed.ctl('recon', 'top_allocations', '1', '--worker', '0');
    assert.match(one.stdout, /^worker 0: allocated=\d+/);
    assert.doesNotMatch(one.stdout, /control|worker 1/);
    const none = await managed.ctl('recon', 'top_allocations', '1', '--worker', '7');
    assert.match(none.stderr, /Cannot find worker 7: there are /);
  });

  test(`node_stats shows what a second brought, with ${workers} workers`, async () => {
    await using managed = await startManaged({
      workers,
      settings: { allow_anonymous: 'true', acl_nomatch: 'allow' },
    });
    const client = await mqtt.connectAsync({ port: managed.mqttPort, reconnectPeriod: 0 });
    let isOver = false;
    const publishing = (async () => {
      while (!isOver) await client.publishAsync('t', 'x', { qos: 1 });
    })();
    const { stdout, code } = await managed.ctl('recon', 'node_stats', '1');
    isOver = true;
    await publishing;
    await client.endAsync();
    const [node = '', ...threads] = stdout.trimEnd().split('\n');
    assert.match(node, /^Node\(connections=1, messages_received=[1-9]\d*, /);
    assert.equal(threads.length, workers === 0 ? 1 : 3);
    for (const line of threads) assert.match(line, /^ {2}\S.*: busy=[\d.]+%, delay=[\d.]+ms, /);
    assert.equal(code, 0);
  });
}
