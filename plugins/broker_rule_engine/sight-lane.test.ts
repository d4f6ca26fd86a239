import assert from 'node:assert/strict';
import test from 'node:test';
import type { InspectSeen } from '#sdk';
import { SightLane } from './sight-lane.ts';

function sightOf(ruleId: string): InspectSeen {
  return { ruleId, actionId: 'a', atMs: 0, selected: {}, event: {}, params: {} };
}

test('sights that find no room are told as a number of each rule, when there is room again', async () => {
  const told: InspectSeen[] = [];
  const answers: PromiseWithResolvers<void>[] = [];
  const lane = new SightLane((seen) => {
    told.push(seen);
    const answer = Promise.withResolvers<void>();
    answers.push(answer);
    return answer.promise;
  });
  for (let i = 0; i < 64; i++) lane.push(sightOf('a'));
  for (let i = 0; i < 30; i++) lane.push(sightOf('a'));
  lane.push(sightOf('b'));
  lane.push({ ruleId: 'b', lost: 9 });
  assert.equal(told.length, 64);
  answers[0]?.resolve();
  answers[1]?.reject(new Error('No answer'));
  for (const { promise } of answers.slice(0, 2)) await promise.catch(() => undefined);
  await new Promise(setImmediate);
  assert.deepEqual(told.slice(64), [
    { ruleId: 'a', lost: 30 },
    { ruleId: 'b', lost: 10 },
  ]);
  for (const { resolve } of answers) resolve();
  await new Promise(setImmediate);
  lane.push(sightOf('c'));
  assert.deepEqual(told.slice(66), [sightOf('c')]);
});
