import assert from 'node:assert/strict';
import test from 'node:test';
import { setImmediate as settled } from 'node:timers/promises';
import fc from 'fast-check';
import { type Ack, AckOrder, type AckType } from './ack-order.ts';

const given = process.env['FUZZ_SEED'];
const seed: number = given === undefined ? (Math.random() * 0x7fff_ffff) | 0 : Number(given);

const ack = (type: AckType, packetId: number, reasonCode = 0): Ack => ({
  type,
  packetId,
  reasonCode,
  text: undefined,
});

function orderWithLog(): { order: AckOrder; log: string[] } {
  const log: string[] = [];
  const order = new AckOrder(
    ({ type, packetId, reasonCode }) => void log.push(`${type} ${packetId} ${reasonCode}`),
    (error, { type, packetId }) => void log.push(`${type} ${packetId} ${String(error)}`),
  );
  return { order, log };
}

test('acknowledgements leave in order although later ones are ready first', async () => {
  const { order, log } = orderWithLog();
  const [one, three] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  order.push(ack('puback', 1, 0), one.promise);
  order.push(ack('pubrec', 2, 0x10), undefined);
  order.push(ack('puback', 3, 0), three.promise);
  assert.deepEqual([order.size, order.pubacks], [3, 2]);
  three.resolve();
  await settled();
  assert.deepEqual(log, []);
  one.resolve();
  await settled();
  assert.deepEqual(log, ['puback 1 0', 'pubrec 2 16', 'puback 3 0']);
  assert.deepEqual([order.size, order.pubacks], [0, 0]);
});

test('acknowledgements leave in order whatever the order of their waits', async (t) => {
  t.diagnostic(`FUZZ_SEED=${seed}`);
  const law = fc.asyncProperty(
    fc.integer({ min: 1, max: 12 }).chain((count) => {
      const ids = Array.from({ length: count }, (_, i) => i + 1);
      return fc.tuple(
        fc.shuffledSubarray(ids, { minLength: count }),
        fc.array(fc.boolean(), { minLength: count, maxLength: count }),
      );
    }),
    async ([resolution, waits]) => {
      const { order, log } = orderWithLog();
      const gates = resolution.map(() => Promise.withResolvers<void>());
      for (const [i, gate] of gates.entries()) {
        order.push(ack('puback', i + 1, 0), waits[i] || i === 0 ? gate.promise : undefined);
      }
      for (const id of resolution) {
        gates[id - 1]?.resolve();
        await Promise.resolve();
      }
      await settled();
      assert.deepEqual(
        log,
        gates.map((_, i) => `puback ${i + 1} 0`),
      );
    },
  );
  await fc.assert(law, { seed, numRuns: 100 });
});

test('a wait that fails is told as failed and lets those behind it go', async () => {
  const { order, log } = orderWithLog();
  const first = Promise.withResolvers<void>();
  order.push(ack('pubrec', 1, 0), first.promise);
  order.push(ack('puback', 2, 0), undefined);
  first.reject('disk full');
  await settled();
  assert.deepEqual(log, ['pubrec 1 disk full', 'puback 2 0']);
  assert.deepEqual([order.size, order.pubacks], [0, 0]);
});
