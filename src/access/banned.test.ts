import assert from 'node:assert/strict';
import test from 'node:test';
import type { BanSubject } from '#hooks/table';
import { type Ban, banFault, banKey, BanList, isOver } from './banned.ts';

const nobody: BanSubject = { clientId: 'c', usernames: ['u'], address: '192.0.2.1' };
const nowMs = 1_000_000;

function listOf(...bans: readonly Ban[]): BanList {
  const list = new BanList();
  for (const ban of bans) list.add(ban);
  return list;
}

test('a ban list has a client by its id, one of its usernames or its address', () => {
  const list = listOf(
    { as: 'client_id', who: 'bad', until: undefined },
    { as: 'username', who: 'eve', until: undefined },
    { as: 'ip_address', who: '10.0.0.0/8', until: undefined },
    { as: 'ip_address', who: '2001:db8::1', until: undefined },
  );
  const has = (subject: Partial<BanSubject>): boolean => list.has({ ...nobody, ...subject }, nowMs);
  assert.equal(has({}), false);
  assert.equal(has({ clientId: 'bad' }), true);
  assert.equal(has({ clientId: 'eve' }), false, 'a name is not an id');
  assert.equal(has({ usernames: ['eve'] }), true);
  assert.equal(has({ usernames: ['ann', 'eve'] }), true);
  assert.equal(has({ usernames: [] }), false);
  assert.equal(has({ usernames: ['bad'] }), false, 'an id is not a name');
  assert.equal(has({ address: '10.3.4.5' }), true);
  assert.equal(has({ address: '::ffff:10.3.4.5' }), true);
  assert.equal(has({ address: '2001:DB8:0::1' }), true);
  assert.equal(has({ address: '2001:db8::2' }), false);
  assert.equal(has({ address: '' }), false, 'where there is no address');
});

test('a ban holds until its time, to the second', () => {
  const kinds = [
    { as: 'client_id', who: 'c' },
    { as: 'username', who: 'u' },
    { as: 'ip_address', who: '192.0.2.0/24' },
  ] as const;
  for (const name of kinds) {
    const ban = { ...name, until: 2000 };
    const list = listOf(ban);
    assert.equal(list.has(nobody, 1_999_999), true, name.as);
    assert.equal(isOver(ban, 1_999_999), false);
    assert.equal(list.has(nobody, 2_000_000), false, name.as);
    assert.equal(isOver(ban, 2_000_000), true);
  }
});

test('of two ranges the one that holds counts', () => {
  const list = listOf(
    { as: 'ip_address', who: '192.0.2.1', until: 10 },
    { as: 'ip_address', who: '192.0.2.0/24', until: undefined },
  );
  assert.equal(list.has(nobody, nowMs), true);
});

test('a ban is taken away by any way to write its name', () => {
  const list = listOf(
    { as: 'ip_address', who: '10.1.2.3/8', until: undefined },
    { as: 'client_id', who: 'c', until: undefined },
    { as: 'username', who: 'u', until: undefined },
  );
  assert.equal(list.size, 3);
  list.remove({ as: 'ip_address', who: '::ffff:10.0.0.0/104' });
  list.remove({ as: 'client_id', who: 'c' });
  assert.equal(list.size, 1);
  assert.equal(list.has({ ...nobody, usernames: [], address: '10.0.0.1' }, nowMs), false);
  list.clear();
  assert.equal(list.size, 0);
  assert.equal(list.has(nobody, nowMs), false);
});

test('names of bans that mean the same have the same key', () => {
  const keys = ['1.2.3.4', '1.2.3.4/32', '::ffff:1.2.3.4'].map((who) =>
    banKey({ as: 'ip_address', who }),
  );
  assert.equal(new Set(keys).size, 1);
  assert.notEqual(banKey({ as: 'client_id', who: 'a' }), banKey({ as: 'username', who: 'a' }));
});

test('a name by which nobody can be banned says why', () => {
  assert.equal(banFault({ as: 'client_id', who: '' }), 'it is empty');
  assert.equal(banFault({ as: 'client_id', who: '10.0.0.0/99' }), undefined);
  assert.equal(banFault({ as: 'ip_address', who: 'host' }), 'want an address or a CIDR');
  assert.equal(banFault({ as: 'ip_address', who: '::1/64' }), undefined);
});
