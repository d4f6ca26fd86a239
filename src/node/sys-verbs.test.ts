import assert from 'node:assert/strict';
import test from 'node:test';
import type { SysmonReport, ThreadLimits } from '#observe/thread-watch';
import { startBroker } from '#test/broker';
import { sysVerbs } from './sys-verbs.ts';

const limits: ThreadLimits = {
  longGcMs: 0,
  longScheduleMs: 0,
  largeHeap: { bytes: 0 },
  busyPort: true,
  busyDistPort: true,
};

test('a client that does not read is told as a busy port, and a congested link as well', async () => {
  await using test = await startBroker({ workers: 0, zone: { maxOutboxBytes: 64 * 1024 } });
  const { broker } = test;
  const told: SysmonReport[] = [];
  const verbs = sysVerbs({ broker, report: (_, report) => void told.push(report) });
  verbs.watchThread(limits);
  const lazy = await test.connect({ clientId: 'lazy' });
  await lazy.subscribe('a', { qos: 1 });
  test.advance(1000);
  assert.deepEqual(told, []);
  lazy.socket.pause();
  const busy = await test.connect();
  const [channel] = test.channels().filter(({ publisher }) => publisher.clientId === 'lazy');
  while (channel?.outbox.isFull === false) {
    await busy.publish('a', Buffer.alloc(32 * 1024), { qos: 1 });
  }
  test.advance(1000);
  const { pressure } = broker.core.flusher;
  pressure.onCongestion(true);
  pressure.onCongestion(false);
  assert.deepEqual(told, [
    { event: 'busy_port', info: 'outbox full: lazy' },
    { event: 'busy_dist_port', info: 'a link to another worker is congested' },
  ]);
  verbs.watchThread(undefined);
  test.advance(60_000);
  pressure.onCongestion(true);
  assert.equal(told.length, 2);
});

test('what is retained by a verb is sent to nobody and kept for those who come', async () => {
  await using test = await startBroker({ workers: 0 });
  const { broker } = test;
  const verbs = sysVerbs({ broker, report: () => undefined });
  const early = await test.connect();
  await early.subscribe('$SYS/#');
  verbs.retainSystem([{ topic: '$SYS/a', payload: 'x', qos: 0, retain: true }]);
  await early.expectNothing();
  const late = await test.connect();
  await late.subscribe('$SYS/#');
  assert.deepEqual(await late.receivePayloads(1), ['x']);
});
