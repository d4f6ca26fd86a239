// How many rules, actions and resources there are: in the stats, for Prometheus, on the command line.

import assert from 'node:assert/strict';
import test from 'node:test';
import { startRuled } from './rules-fixture.ts';

for (const workers of [0, 2]) {
  test(`rules, actions and resources are counted, now and at most (workers: ${workers})`, async () => {
    await using managed = await startRuled(workers);
    const counts = async (): Promise<readonly unknown[]> => {
      const [node] = (await managed.get('/stats')).body.data as [Record<string, number>];
      return ['rules', 'actions', 'resources'].map((key) => [
        node[`${key}/count`],
        node[`${key}/max`],
      ]);
    };
    assert.deepEqual(await counts(), [
      [0, 0],
      [0, 0],
      [0, 0],
    ]);
    const { body } = await managed.post('/resources', { type: 'built_in', name: 'a', config: {} });
    const fallbacks = [{ name: 'do_nothing' }];
    const actions = [{ name: 'inspect', fallbacks }, { name: 'do_nothing' }];
    for (const id of ['rule:a', 'rule:b']) {
      await managed.post('/rules', { id, rawsql: 'SELECT * FROM "t"', actions });
    }
    assert.deepEqual(await counts(), [
      [2, 2],
      [6, 6],
      [1, 1],
    ]);
    await managed.delete('/rules/rule:a');
    await managed.put('/rules/rule:b', { actions: [{ name: 'inspect' }] });
    await managed.delete(`/resources/${(body.data as { id: string }).id}`);
    const now = [
      [1, 2],
      [1, 6],
      [0, 1],
    ];
    assert.deepEqual(await counts(), now);
    const name = managed.parts.settings.node.name;
    const ofNode = (await managed.get(`/nodes/${name}/stats`)).body.data as Record<string, number>;
    assert.deepEqual([ofNode['rules/count'], ofNode['actions/max']], [1, 6]);
    const { stdout } = await managed.ctl('broker', 'stats');
    assert.match(stdout, /^rules\/count {19}: 1\nrules\/max {21}: 2$/m);
    const { text } = await managed.get('@/metrics');
    assert.match(text, /^broker_rules 1$/m);
    assert.match(text, /^broker_actions_max 6$/m);
    assert.match(text, /^# TYPE broker_resources gauge$/m);
    await managed.put('/plugins/broker_rule_engine/unload');
    const [gone] = (await managed.get('/stats')).body.data as [Record<string, number>];
    assert.equal(Object.hasOwn(gone, 'rules/count'), false);
  });
}
