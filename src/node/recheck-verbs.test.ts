import assert from 'node:assert/strict';
import test from 'node:test';
import { startBroker } from '#test/broker';
import { recheckVerbs } from './recheck-verbs.ts';

for (const workers of [0, 2]) {
  test(`with ${workers} workers each rechecks the clients that it has`, async () => {
    await using broker = await startBroker({ workers, zone: { enableAcl: true } });
    let isRevoked = false;
    broker.hook('client.check_acl', () => (isRevoked ? 'deny' : 'allow'));
    for (const worker of [0, 1]) {
      const client = await broker.connect({ worker, version: 4 });
      await client.subscribe(['a', 'b']);
    }
    isRevoked = true;
    const answers = await Promise.all(
      broker.brokers.map((one) => recheckVerbs({ broker: one }).recheckRights()),
    );
    const one = { clients: 1, subscriptions: 2, messages: 0, undecided: 0 };
    const both = { ...one, clients: 2, subscriptions: 4 };
    assert.deepEqual(answers, workers === 0 ? [both] : [one, one]);
    assert.deepEqual(structuredClone(answers), answers, 'it goes from thread to thread');
  });
}
