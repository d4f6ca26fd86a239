import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { Inflight, Phase } from './inflight.ts';
import { deliveryTo, FakeSubscriber, messageOn } from './session-fixture.ts';

const given = process.env['FUZZ_SEED'];
const seed: number = given === undefined ? (Math.random() * 0x7fff_ffff) | 0 : Number(given);

const message = messageOn('t', { qos: 1 });
const delivery = deliveryTo(new FakeSubscriber('s'));
const add = (inflight: Inflight): number => inflight.add(message, delivery, Phase.awaitPuback, 0);

test('inflight never gives a packet id that is in flight, against a model', (t) => {
  t.diagnostic(`FUZZ_SEED=${seed}`);
  // A step adds, or removes the entry at that place of the model.
  const steps = fc.array(fc.oneof(fc.constant('add' as const), fc.nat(40)), { maxLength: 400 });
  const law = fc.property(steps, (all) => {
    const inflight = new Inflight();
    const model: number[] = [];
    for (const step of all) {
      if (step === 'add') {
        const id = add(inflight);
        assert.ok(id >= 1 && id <= 0xffff);
        assert.ok(!model.includes(id));
        model.push(id);
      } else if (model.length > 0) {
        const [id] = model.splice(step % model.length, 1) as [number];
        inflight.delete(id);
        assert.equal(inflight.get(id), undefined);
      }
      assert.equal(inflight.size, model.length);
      for (const id of model) assert.equal(inflight.get(id)?.packetId, id);
    }
    assert.deepEqual(
      inflight.inOrder().map(({ packetId }) => packetId),
      model,
    );
  });
  fc.assert(law, { seed, numRuns: 100 });
});

test('inflight goes from 65535 to 1 and passes over ids still in flight', () => {
  const inflight = new Inflight();
  const oldest = [add(inflight), add(inflight)];
  assert.deepEqual(oldest, [1, 2]);
  let last = 0;
  let wraps = 0;
  for (let i = 0; i < 200_000; i++) {
    const id = add(inflight);
    assert.ok(id > 2 && id <= 0xffff);
    if (id < last) wraps++;
    last = id;
    inflight.delete(id);
  }
  assert.ok(wraps >= 2);
  assert.deepEqual(
    inflight.inOrder().map(({ packetId }) => packetId),
    [1, 2],
  );
});

test('inflight holds all 65535 ids at once, each once', () => {
  const inflight = new Inflight();
  const ids = new Set<number>();
  for (let i = 0; i < 0xffff; i++) ids.add(add(inflight));
  assert.equal(ids.size, 0xffff);
  assert.ok(!ids.has(0));
  inflight.delete(777);
  assert.equal(add(inflight), 777);
});

test('inflight keeps the order of sending over the wrap of ids', () => {
  const inflight = new Inflight();
  for (let i = 0; i < 0xfffe; i++) inflight.delete(add(inflight));
  const ids = [add(inflight), add(inflight), add(inflight)];
  assert.deepEqual(ids, [0xffff, 1, 2]);
  assert.deepEqual(
    inflight.inOrder().map(({ packetId }) => packetId),
    ids,
  );
});

test('inflight knows only whole ids, not those that share their slot', () => {
  const inflight = new Inflight();
  const id = add(inflight);
  assert.equal(inflight.get(id + 8), undefined);
  assert.equal(inflight.get(id + 0x8000), undefined);
  assert.throws(() => inflight.delete(id + 8), /only a packet id in flight is released/);
  assert.equal(inflight.size, 1);
});

test('inflight is empty after clear, also when nothing was ever in it', () => {
  const inflight = new Inflight();
  assert.equal(inflight.get(1), undefined);
  add(inflight);
  inflight.clear();
  assert.equal(inflight.size, 0);
  assert.equal(inflight.get(1), undefined);
  assert.deepEqual(inflight.inOrder(), []);
  assert.equal(add(inflight), 2);
});
