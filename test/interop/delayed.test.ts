// A delayed message that was acknowledged survives the death of the process.

import assert from 'node:assert/strict';
import test from 'node:test';
import { BrokerProcess, onlyListeners, Place } from './broker-process.ts';
import { OutsideClient, urlOf } from './outside-client.ts';

for (const workers of [0, 2]) {
  test(`a delayed message is published after a kill -9, with ${workers} workers`, async () => {
    using place = new Place();
    const sets = [
      ...onlyListeners('tcp'),
      `node.workers=${workers}`,
      'allow_anonymous=true',
      'acl_nomatch=allow',
      'plugins.loaded=broker_delayed_publish',
    ];
    const session = {
      clientId: 'reader',
      clean: false,
      properties: { sessionExpiryInterval: 3600 },
    };
    {
      const broker = await BrokerProcess.start(sets, { place });
      // Not the broker itself, which insists on an orderly end.
      await using program = broker.program;
      const url = urlOf('tcp', broker.port('tcp'));
      await using reader = await OutsideClient.open(url, session);
      await reader.subscribe('later', { qos: 1 });
      await using writer = await OutsideClient.open(url, { clientId: 'writer' });
      await writer.publish('$delayed/2/later', 'still here', { qos: 1 });
      program.signal('SIGKILL');
      await program.outcome();
    }
    await using broker = await BrokerProcess.start(sets, { place });
    await using reader = await OutsideClient.open(urlOf('tcp', broker.port('tcp')), session);
    const { payload } = await reader.messages.take('the delayed message');
    assert.equal(payload.toString(), 'still here');
  });
}
