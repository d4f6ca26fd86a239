import assert from 'node:assert/strict';
import test from 'node:test';
import type { AclDifference, AclDiffSlice } from '#node/acl-diff';
import type { WorkersFace } from '#node/node-face';
import { AclDiffs, type AclDiffSummary } from './acl-diff.ts';

const row = (clientId: string): AclDifference => ({
  clientId,
  action: 'subscribe',
  topic: 't',
  isAllowed: false,
  rule: undefined,
});
const slice = (ids: string, next: string | undefined): AclDiffSlice => ({
  rows: Array.from(ids, (id) => row(id)),
  next,
  clients: ids.length,
  subscriptions: ids.length,
  publishes: 0,
});
const over = slice('', undefined);

interface Fake {
  readonly workers: WorkersFace;
  readonly asked: string[];
}

/** Two workers with slices to tell; undefined: it does not answer. */
function fakeWorkers(
  ...slices: readonly (readonly [AclDiffSlice, AclDiffSlice | undefined])[]
): Fake {
  const asked: string[] = [];
  const left = [...slices];
  const everywhere = async (verb: string): Promise<unknown> => {
    asked.push(verb);
    if (verb !== 'compareAcl') {
      const said = verb === 'proposeAcl' ? ['http'] : undefined;
      return {
        answers: [
          ['worker 0', said],
          ['worker 1', said],
        ],
        missing: [],
      };
    }
    const [first, second] = left.shift() ?? [over, over];
    const answers = [['worker 0', first], ...(second === undefined ? [] : [['worker 1', second]])];
    return { answers, missing: second === undefined ? [['worker 1', 'it is busy']] : [] };
  };
  return { workers: { everywhere } as unknown as WorkersFace, asked };
}

const never = new AbortController().signal;

async function all(
  comparison: AsyncGenerator<readonly AclDifference[], AclDiffSummary>,
): Promise<{ ids: string[]; summary: AclDiffSummary }> {
  const ids: string[] = [];
  for (;;) {
    const { done, value } = await comparison.next();
    if (done === true) return { ids, summary: value };
    ids.push(value.map(({ clientId }) => clientId).join(''));
  }
}

test('what workers tell slice by slice comes in the order of client ids', async () => {
  const { workers, asked } = fakeWorkers(
    [slice('adh', 'k'), slice('be', 'f')],
    [slice('kl', undefined), slice('fj', 'm')],
    [over, slice('z', undefined)],
  );
  const { ids, summary } = await all(new AclDiffs(workers).compare('', never));
  assert.deepEqual(ids, ['abde', 'fhjkl', 'z']);
  assert.deepEqual(summary, {
    looked: { clients: 10, subscriptions: 10, publishes: 0 },
    changed: { clients: 10, subscriptions: 10, publishes: 0 },
    others: ['http'],
  });
  assert.equal(asked.at(-1), 'forgetAcl');
});

test('a worker that does not answer is a failure, and the others forget', async () => {
  const { workers, asked } = fakeWorkers([slice('a', undefined), undefined]);
  await assert.rejects(all(new AclDiffs(workers).compare('', never)), {
    code: 101,
    message: 'Cannot compare access rules: worker 1: it is busy',
  });
  assert.equal(asked.at(-1), 'forgetAcl');
});

test('so many are compared at a time, and one that is given up makes room', async () => {
  const { workers, asked } = fakeWorkers(
    ...Array.from({ length: 9 }, () => [slice('a', 'b'), over] as const),
  );
  const diffs = new AclDiffs(workers);
  const running = [1, 2, 3, 4].map(() => diffs.compare('', never));
  for (const one of running) await one.next();
  await assert.rejects(diffs.compare('', never).next(), { code: 429 });
  await running[0]?.return(undefined as never);
  assert.equal(asked.at(-1), 'forgetAcl');
  assert.equal((await diffs.compare('', never).next()).done, false);
});

test('nobody waits any more: it ends, and workers forget', async () => {
  const { workers, asked } = fakeWorkers([slice('a', 'b'), over], [slice('b', 'c'), over]);
  const gone = new AbortController();
  const comparison = new AclDiffs(workers).compare('', gone.signal);
  await comparison.next();
  gone.abort();
  await assert.rejects(comparison.next(), { name: 'AbortError' });
  assert.equal(asked.at(-1), 'forgetAcl');
});
