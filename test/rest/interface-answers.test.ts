// What each call of the interface answers where there is nothing to list: code alone, or a code and a
// message, word for word as clients know them; with and without a slash at the end.

import assert from 'node:assert/strict';
import test from 'node:test';
import { type AskOptions, type Managed, startManaged } from '#test/managed';
import { RawClient } from '#test/raw-client';

const node = 'broker@127.0.0.1';
const settings = {
  allow_anonymous: 'true',
  acl_nomatch: 'allow',
  'dashboard.listener.http': '127.0.0.1:0',
};

/** Method, path, body; the answer; its HTTP status where that is not 200. */
type Case = readonly [string, string, unknown, Readonly<Record<string, unknown>>, number?];

const done = { code: 0 };
const nobody = { code: 112, message: 'not_found' };
const noSession = { code: 112, message: 'session_not_found' };
const badTopic = { code: 115, message: 'bad_topic' };
const unknown = { code: 404, message: 'Not Found' };
const missing = (...names: readonly string[]): Case[3] => {
  const list = names.map((name) => `'${name}'`).join(', ');
  return { code: 107, message: `missing mandatory params: [${list}]` };
};
const badKind = {
  code: 108,
  message: "value of 'as' must be one of: ['client_id', 'username', 'ip_address']",
};
const failed = (message: string): Case[3] => ({ code: 102, message });

async function assertCases(
  managed: Managed,
  cases: readonly Case[],
  options: AskOptions = {},
): Promise<void> {
  for (const [method, path, body, wanted, status = 200] of cases) {
    const { status: found, text } = await managed.ask(method, path, body, options);
    assert.deepEqual([found, text], [status, JSON.stringify(wanted)], `${method} ${path}`);
  }
}

for (const workers of [0, 2]) {
  test(`calls about clients answer a code, or why not (${workers} workers)`, async () => {
    await using managed = await startManaged({ workers, settings });
    await using client = await RawClient.open(managed.mqttPort);
    await client.connect({ clientId: 'c' });
    const client_id = 'c';
    await assertCases(managed, [
      ['POST', '/mqtt/subscribe', { client_id, topic: 't/#', qos: 1 }, done],
      ['POST', '/mqtt/subscribe/', { client_id, topic: 'a,#/b,$share/g/s', qos: 2 }, done],
      ['POST', '/mqtt/publish', { client_id, topic: 't/1', payload: 'x', qos: 2 }, done],
      ['POST', '/mqtt/publish/', { topic: 'no/body,a/+', retain: true }, done],
      ['POST', '/mqtt/publish', { client_id: 'offline', topics: 'a,b' }, done],
      ['POST', '/mqtt/unsubscribe', { client_id, topic: 't/#' }, done],
      ['POST', '/mqtt/unsubscribe/', { client_id, topic: 'never/subscribed' }, done],
      ['POST', '/mqtt/subscribe', { client_id: 'd', topic: 't' }, noSession],
      ['POST', '/mqtt/unsubscribe', { client_id: 'd', topic: 't' }, noSession],
      ['POST', '/mqtt/subscribe', { client_id, topic: '#/b' }, badTopic],
      ['POST', '/mqtt/subscribe', { client_id, topic: '' }, badTopic],
      ['POST', '/mqtt/unsubscribe', { client_id, topic: 'a#' }, badTopic],
      ['POST', '/mqtt/publish', { topic: 't/+' }, badTopic],
      ['POST', '/mqtt/publish', { topic: '' }, badTopic],
      ['POST', '/mqtt/publish', { topic: 'x'.repeat(70_000) }, badTopic],
      ['POST', '/mqtt/publish', {}, badTopic],
      ['POST', '/mqtt/subscribe', { topic: 't' }, missing('client_id')],
      ['DELETE', '/connections/d', undefined, nobody],
      ['DELETE', '/sessions/persistent/c', undefined, failed('running_session')],
      ['DELETE', '/sessions/persistent/d', undefined, failed('not_found')],
      ['DELETE', '/connections/c/', undefined, done],
      ['DELETE', '/connections/c', undefined, nobody],
    ]);
    const topics = await client.expectClosed();
    const told = topics.flatMap((packet) => (packet.type === 'publish' ? [packet] : []));
    assert.deepEqual(
      told.map(({ topic, payload, qos }) => [topic, String(payload), qos]),
      [
        ['t/1', 'x', 1],
        ['a', '', 0],
      ],
    );
  });

  test(`a batch answers an item for each entry (${workers} workers)`, async () => {
    await using managed = await startManaged({ workers, settings });
    await using client = await RawClient.open(managed.mqttPort);
    await client.connect({ clientId: 'c' });
    const one = (client_id: string, topic: string) => ({ client_id, topic });
    const item = (entry: object, code: number) => ({ ...entry, code });
    const entries = [one('c', 't'), one('d', 't'), one('c', 'a#')];
    for (const verb of ['subscribe', 'unsubscribe']) {
      const { body } = await managed.post(`/mqtt/${verb}_batch`, entries);
      const items = [item(one('c', 't'), 0), item(one('d', 't'), 112), item(one('c', 'a#'), 115)];
      assert.deepEqual(body, { code: 0, data: items });
    }
    const { body } = await managed.post('/mqtt/publish_batch', [
      { topic: 't', payload: 'x' },
      { topics: 'a,b' },
      { topic: 't/+' },
    ]);
    const data = [item({ topic: 't' }, 0), item({ topics: 'a,b' }, 0), item({ topic: 't/+' }, 115)];
    assert.deepEqual(body, { code: 0, data });
  });
}

test('pages are counted from 1 and have a limit, in every paged list', async () => {
  await using managed = await startManaged({ settings });
  const lists = ['connections', 'sessions', 'subscriptions'];
  const paths = [...lists, ...lists.map((list) => `nodes/${node}/${list}`), 'routes', 'banned'];
  const wrong = (name: string, found: unknown, wanted: string): Case[3] => {
    const text = JSON.stringify(found);
    return { code: 108, message: `Cannot use ${name} = ${text}: expected an integer ${wanted}` };
  };
  for (const path of paths) {
    const empty = (page: number, limit: number): Case[3] => {
      return { code: 0, data: [], meta: { page, limit, count: 0 } };
    };
    await assertCases(managed, [
      ['GET', `/${path}`, undefined, empty(1, 10_000)],
      ['GET', `/${path}/?_page=7&_limit=3`, undefined, empty(7, 3)],
      ['GET', `/${path}?_page=0`, undefined, wrong('_page', 0, 'of at least 1')],
      ['GET', `/${path}?_page=-1`, undefined, wrong('_page', -1, 'of at least 1')],
      ['GET', `/${path}?_page=two`, undefined, wrong('_page', 'two', 'of at least 1')],
      ['GET', `/${path}?_limit=0`, undefined, wrong('_limit', 0, 'from 1 to 10000')],
      ['GET', `/${path}?_limit=10001`, undefined, wrong('_limit', 10_001, 'from 1 to 10000')],
    ]);
  }
});

test('fields of a body may stand in the query, which wins', async () => {
  await using managed = await startManaged({ settings });
  await using client = await RawClient.open(managed.mqttPort);
  await client.connect({ clientId: 'c' });
  await assertCases(managed, [
    ['POST', '/mqtt/subscribe?client_id=c&topic=t%2F%23&qos=2', undefined, done],
    ['POST', '/mqtt/publish?topic=t%2F1&payload=a+b%2Bc&qos=1', { topic: 'no', qos: 2 }, done],
    ['POST', '/mqtt/publish?retain=false', { topic: 't/2', payload: 'x', qos: '2' }, done],
  ]);
  for (const wanted of [
    ['t/1', 'a b+c', 1],
    ['t/2', 'x', 2],
  ]) {
    const { topic, payload, qos } = await client.receive();
    assert.deepEqual([topic, payload.toString(), qos], wanted);
  }
});

test('bans are echoed, listed with every field, and gone', async () => {
  await using managed = await startManaged({ settings });
  const until = 4_000_000_000;
  const ban = { who: 'a/b', as: 'client_id', reason: 'r', desc: 'd', until };
  await assertCases(managed, [
    ['POST', '/banned/', ban, { code: 0, data: ban }],
    [
      'POST',
      '/banned',
      { who: 'u', as: 'username', more: [1] },
      {
        code: 0,
        data: { who: 'u', as: 'username', more: [1] },
      },
    ],
    ['POST', '/banned', {}, missing('who', 'as')],
    ['POST', '/banned', { who: 'x' }, missing('as')],
    ['POST', '/banned', { who: 'x', as: 'nick' }, badKind],
    ['DELETE', '/banned/x', undefined, missing('as')],
    ['DELETE', '/banned/x?as=nick', undefined, badKind],
    ['DELETE', '/banned/x?as=client_id', undefined, done],
  ]);
  const { body } = await managed.get('/banned/?_page=1&_limit=1');
  const first = { who: 'a/b', as: 'client_id', reason: 'r', desc: 'd', by: 'undefined', until };
  assert.deepEqual(body, { code: 0, data: [first], meta: { page: 1, limit: 1, count: 2 } });
  const { body: second } = await managed.get('/banned?_page=2&_limit=1');
  const none = 'undefined';
  const bare = { who: 'u', as: 'username', reason: none, desc: none, by: none, until: none };
  assert.deepEqual(second.data, [bare]);
  await assertCases(managed, [
    ['DELETE', '/banned/a%2Fb?as=client_id', undefined, done],
    ['DELETE', '/banned/u/', { as: 'username' }, done],
    [
      'GET',
      '/banned',
      undefined,
      { code: 0, data: [], meta: { page: 1, limit: 10_000, count: 0 } },
    ],
  ]);
});

test('plugins that are what they should be already are refused with code 102', async () => {
  await using managed = await startManaged({ settings });
  const of = (plugin: string, verb: string): string => `/nodes/${node}/plugins/${plugin}/${verb}`;
  await assertCases(managed, [
    ['PUT', of('broker_retainer', 'load'), undefined, failed('already_started')],
    ['PUT', of('broker_dashboard', 'load'), undefined, failed('already_started')],
    ['PUT', of('broker_dashboard', 'unload/'), undefined, done],
    ['PUT', of('broker_dashboard', 'unload'), undefined, failed('not_started')],
    ['PUT', of('broker_dashboard', 'load/'), undefined, done],
  ]);
});

test('what is not there is not found, and what is no JSON is said so', async () => {
  await using managed = await startManaged({ settings });
  await assertCases(managed, [
    ['GET', '/nope', undefined, unknown, 404],
    ['GET', '/clients', undefined, unknown, 404],
    ['GET', '/apps/', undefined, unknown, 404],
    ['GET', '/users/', undefined, unknown, 404],
    ['POST', '/brokers/', {}, unknown, 404],
    ['PUT', '/connections/c', {}, unknown, 404],
    ['DELETE', '/', undefined, unknown, 404],
  ]);
  const broken = await managed.ask('POST', '/mqtt/publish', undefined, { raw: '{"topic":' });
  assert.deepEqual([broken.status, broken.body.code], [400, 109]);
  const closed = await managed.get('/nope', { auth: '' });
  assert.deepEqual([closed.status, closed.body.code], [401, 401]);
  assert.match(String(closed.headers['www-authenticate']), /^Basic /);
  assert.deepEqual(Object.keys(closed.body), ['code', 'message']);
});

test('applications and users answer as they always have', async () => {
  await using managed = await startManaged({ settings });
  const options = { port: managed.portOf('dashboard'), auth: 'admin:public' };
  const error = (code: number, message: string): Case[3] => ({ code, message });
  const app = { app_id: 'a', name: 'n', desc: '', status: true, expired: 'undefined' };
  await assertCases(
    managed,
    [
      [
        'POST',
        '/apps/',
        { app_id: 'a', name: 'n', secret: 's' },
        { code: 0, data: { secret: 's' } },
      ],
      ['POST', '/apps', { app_id: 'a', name: 'n' }, failed('alread_existed')],
      ['GET', '/apps/a', undefined, { code: 0, data: { ...app, secret: '******' } }],
      ['GET', '/apps/b', undefined, { code: 0, data: [] }],
      ['PUT', '/apps/a', { name: 'm', status: false }, done],
      ['PUT', '/apps/b', { name: 'm' }, failed('ont_found')],
      ['DELETE', '/apps/b', undefined, done],
      ['POST', '/users/', { username: 'u', password: 'p', tags: 't' }, done],
      ['POST', '/users', { username: 'u', password: 'p' }, error(113, 'Username Already Exist')],
      ['POST', '/users', { username: 'v' }, error(104, 'Username or password undefined')],
      ['PUT', '/users/v', { tags: 't' }, error(105, 'Username Not Found')],
      ['PUT', '/change_pwd/u', { old_pwd: 'q', new_pwd: 'r' }, error(114, 'Password Error')],
      ['PUT', '/change_pwd/v', { old_pwd: 'q', new_pwd: 'r' }, error(105, 'Username Not Found')],
      ['PUT', '/change_pwd/u', { old_pwd: 'p', new_pwd: 'r' }, done],
      ['DELETE', '/users/admin', undefined, error(106, 'Cannot delete admin')],
      ['DELETE', '/users/u', undefined, done],
      ['DELETE', '/users/u', undefined, error(105, 'Username Not Found')],
    ],
    options,
  );
  await assertCases(
    managed,
    [
      ['POST', '/auth', { username: 'admin', password: 'public' }, done],
      ['POST', '/auth/', { username: 'admin', password: 'x' }, error(103, 'Password Error')],
      ['POST', '/auth', { username: 'v', password: 'x' }, error(105, 'Username Not Found')],
      ['POST', '/auth', { password: 'x' }, error(104, 'Username undefined')],
      ['POST', '/auth', { username: 'admin' }, error(104, 'Password undefined')],
    ],
    { ...options, auth: '' },
  );
});
