import assert from 'node:assert/strict';
import test from 'node:test';
import mqtt from 'mqtt';
import { type Managed, startManaged } from '#test/managed';
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
