// What core/store-port.ts promises of wills, as tests that run on every engine.

import assert from 'node:assert/strict';
import type { StoredWill } from '#core/store-port';
import { Table } from './table.ts';
import type { MakeEngine } from './engine-fixture.ts';
import { HandJournal, onEngine } from './journal-fixture.ts';
import { shortKey } from './keys.ts';
import { StoreDamaged } from './store-damaged.ts';
import { WillTable } from './will-store.ts';

const will: StoredWill = {
  topic: 'm/will/ü',
  payload: Buffer.from('gone'),
  qos: 2,
  retain: true,
  properties: {
    payloadFormat: 1,
    messageExpirySeconds: 7,
    correlationData: Buffer.from([1, 2]),
    userProperties: [
      ['a', 'b'],
      ['a', 'c'],
    ],
    willDelaySeconds: 2 ** 32 - 1,
  },
  from: { clientId: 'c', username: undefined, address: '::1', port: 65_535 },
  delaySeconds: 2 ** 32 - 1,
  dueAtMs: undefined,
};

export function willContract(name: string, make: MakeEngine): void {
  const on = onEngine(`wills on ${name}`, make);
  on('wills come back as they were, until they are deleted', async (journal) => {
    const table = new WillTable(journal);
    const bare: StoredWill = {
      ...will,
      payload: Buffer.alloc(0),
      qos: 0,
      retain: false,
      properties: {},
      from: { ...will.from, username: '' },
      delaySeconds: 0,
      dueAtMs: 1_700_000_000_000,
    };
    const asked: StoredWill = { ...will, from: { ...will.from, zone: 'z', mountpoint: 'm/' } };
    const root = { ...asked.from, isSuperuser: true };
    const long = 'l'.repeat(3000);
    table.put('a', asked);
    table.put('b', will);
    table.put('b', bare);
    table.put('c', will);
    table.put(long, { ...will, from: root });
    await journal.flush();
    const next = new WillTable(new HandJournal(journal.engine));
    assert.deepEqual(next.all(), [
      ['a', asked],
      ['b', bare],
      ['c', will],
      // Nobody asks for the rights of a superuser.
      [long, { ...will, from: { ...will.from, mountpoint: 'm/' } }],
    ]);
    assert.deepEqual(
      next.all((clientId) => clientId === 'a'),
      [['a', asked]],
    );
    table.delete('a');
    table.delete(long);
    table.delete('never');
    await journal.flush();
    assert.deepEqual(next.all(), [
      ['b', bare],
      ['c', will],
    ]);
  });

  on('a will that no broker wrote is damage', async (journal) => {
    const table = new WillTable(journal);
    table.put('a', will);
    await journal.flush();
    const key = shortKey('a');
    const whole = journal.engine.get(Table.wills, key) as Buffer;
    const spoiled = (at: number, byte: number): Buffer => Buffer.from(whole).fill(byte, at, at + 1);
    const propertiesAt = whole.indexOf(Buffer.from([1, 1, 2, 0]));
    const bad = [
      spoiled(0, 9),
      spoiled(1, 3),
      spoiled(1, 8),
      spoiled(2, 1),
      spoiled(propertiesAt, 0x7f),
      whole.subarray(0, -1),
      Buffer.alloc(0),
    ];
    for (const bytes of bad) {
      journal.open.put(Table.wills, key, bytes);
      await journal.flush();
      assert.throws(() => table.all(), StoreDamaged, bytes.toString('hex'));
    }
  });
}
