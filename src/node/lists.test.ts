// Laws: a list is read a page at a time and nothing is seen twice; lists that nobody goes on with are
// given up.

import assert from 'node:assert/strict';
import test from 'node:test';
import { VirtualClock } from '#base/clock';
import { nullLogger } from '#base/log';
import type { ZoneSettings } from '#config/settings';
import { loadSettings } from '#config/load';
import { Broker } from '#core/broker';
import { deafStore } from '#core/session-fixture';
import { Alone } from '#cluster/alone';
import { Lists, type Row } from './lists.ts';

const settings = loadSettings({ sets: ['listener.tcp.external=127.0.0.1:0'] });
const zone = settings.zones.get('external') as ZoneSettings;

function brokerWith(t: test.TestContext, sessions: number): Broker {
  const broker = new Broker({
    settings,
    clock: new VirtualClock(),
    log: nullLogger,
    store: deafStore,
    peers: new Alone(),
  });
  t.after(() => broker.stop());
  for (let i = 0; i < sessions; i++) open(broker, `c${i}`);
  return broker;
}

function open(broker: Broker, clientId: string): void {
  const { sessions, subscriptions } = broker.core;
  const { session } = sessions.open({
    clientId,
    username: undefined,
    provenUsername: undefined,
    mountpoint: '',
    zone,
    expirySeconds: 100,
    cleanStart: true,
  });
  subscriptions.add(session, {
    filter: `t/${clientId}`,
    routed: `t/${clientId}`,
    group: undefined,
    qos: 1,
    noLocal: false,
    retainAsPublished: false,
    retainHandling: 0,
    subscriptionId: undefined,
  });
}

function all(lists: Lists, kind: 'sessions' | 'subscriptions', between = () => undefined): Row[] {
  const rows: Row[] = [];
  for (let from: number | undefined; ; ) {
    const page = lists.page(kind, from);
    rows.push(...page.rows);
    if (page.next === undefined) return rows;
    between();
    from = page.next;
  }
}

test('a list has every session once, a thousand a page', (t) => {
  const lists = new Lists(brokerWith(t, 2500));
  const pages = [lists.page('sessions', undefined)];
  while (pages.at(-1)?.next !== undefined) pages.push(lists.page('sessions', pages.at(-1)?.next));
  assert.deepEqual(
    pages.map(({ rows }) => rows.length),
    [1000, 1000, 500],
  );
  const names = new Set(pages.flatMap(({ rows }) => rows.map(({ clientId }) => clientId)));
  assert.equal(names.size, 2500);
});

test('a list that ends with a full page has an empty one behind it, or none', (t) => {
  const lists = new Lists(brokerWith(t, 1000));
  assert.equal(all(lists, 'sessions').length, 1000);
  assert.deepEqual(new Lists(brokerWith(t, 0)).page('sessions', undefined), {
    rows: [],
    next: undefined,
  });
});

test('subscriptions are listed with their options', (t) => {
  const lists = new Lists(brokerWith(t, 1));
  assert.deepEqual(all(lists, 'subscriptions'), [
    {
      clientId: 'c0',
      filter: 't/c0',
      qos: 1,
      noLocal: false,
      retainAsPublished: false,
      retainHandling: 0,
    },
  ]);
});

test('a session that comes or goes between two pages is seen once or not at all', (t) => {
  const broker = brokerWith(t, 1500);
  const { sessions } = broker.core;
  const rows = all(new Lists(broker), 'sessions', () => {
    open(broker, 'late');
    void sessions.discard('c1400');
    void sessions.discard('c3');
    return undefined;
  });
  const names = rows.map(({ clientId }) => clientId);
  assert.equal(new Set(names).size, names.length);
  for (let i = 0; i < 1500; i++) {
    if (i !== 3 && i !== 1400) assert.ok(names.includes(`c${i}`), `c${i}`);
  }
  assert.ok(!names.includes('c1400'));
});

test('a page is read once: who asks for it again has lost the list', (t) => {
  const lists = new Lists(brokerWith(t, 1001));
  const { next } = lists.page('sessions', undefined);
  lists.page('sessions', next);
  assert.throws(() => lists.page('sessions', next), RangeError);
  assert.throws(() => lists.page('sessions', 99), /Cannot go on with list 99/);
});

test('of more than 32 lists that were begun the oldest is given up', (t) => {
  const lists = new Lists(brokerWith(t, 1001));
  const begun = Array.from({ length: 33 }, () => lists.page('sessions', undefined).next);
  assert.throws(() => lists.page('sessions', begun[0]), RangeError);
  assert.equal(lists.page('sessions', begun[1]).rows.length, 1);
  assert.equal(lists.page('sessions', begun[32]).rows.length, 1);
});
