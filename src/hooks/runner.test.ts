import assert from 'node:assert/strict';
import test from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { VirtualClock } from '#base/clock';
import { Hooks, type HookWish } from './runner.ts';
import type { ClientInfo, HookName, MessageView } from './table.ts';
import { hookNames } from './table.ts';

const client = { clientId: 'c' } as ClientInfo;
const message = { topic: 't' } as MessageView;

interface Failure {
  readonly hook: HookName;
  readonly owner: string;
  readonly error: unknown;
}

function hooksWithFailures(): { hooks: Hooks; failures: Failure[] } {
  const failures: Failure[] = [];
  const hooks = new Hooks((hook, owner, error) => failures.push({ hook, owner, error }));
  return { hooks, failures };
}

const askAcl = (hooks: Hooks): unknown =>
  hooks.ask('client.check_acl', 'deny', client, 'publish', 't');

/** A fold whose value is the list of answers so far; 'drop' ends it. */
const foldPublish = (hooks: Hooks): unknown =>
  hooks.fold(
    'message.publish',
    [] as unknown[],
    (call) => call(message),
    (seen, answer) => (answer === 'drop' ? undefined : [...seen, answer]),
  );

test('hooks call higher priority first and equal priority in order of registration', () => {
  const { hooks } = hooksWithFailures();
  const called: string[] = [];
  const add = (name: string, priority?: number): void =>
    hooks.on('client.connected', name, () => void called.push(name), priority);
  add('first');
  add('low', -1);
  add('second');
  add('high', 10);
  add('third', 0);
  hooks.tell('client.connected', client, 0);
  assert.deepEqual(called, ['high', 'first', 'second', 'third', 'low']);
});

test('hooks refuse the same function twice on one hook and take it on another', () => {
  const { hooks } = hooksWithFailures();
  const call = (): void => {};
  hooks.on('client.connected', 'a', call);
  assert.throws(() => hooks.on('client.connected', 'b', call), {
    name: 'TypeError',
    message: 'Cannot hook "client.connected" for "b": the same function is there already',
  });
  hooks.on('client.disconnected', 'b', call);
  assert.equal(hooks.listeners('client.connected')?.length, 1);
});

test('hooks revoke everything of one owner and nothing of others', () => {
  const { hooks } = hooksWithFailures();
  const called: string[] = [];
  for (const owner of ['keep', 'gone', 'keep']) {
    hooks.on('client.connected', owner, () => void called.push(owner));
  }
  hooks.on('session.created', 'gone', () => void called.push('session'));
  hooks.off('gone');
  hooks.tell('client.connected', client, 0);
  hooks.tell('session.created', client);
  assert.deepEqual(called, ['keep', 'keep']);
  assert.equal(hooks.has('session.created'), false);
  assert.equal(hooks.listeners('session.created'), null);
});

test('hooks report every change of the lists', () => {
  const { hooks } = hooksWithFailures();
  const seen: boolean[] = [];
  hooks.onChange = () => void seen.push(hooks.has('message.publish'));
  hooks.on('message.publish', 'a', () => undefined);
  hooks.off('a');
  assert.deepEqual(seen, [true, false]);
});

test('hooks that nobody uses are absent and answer ignore', () => {
  const { hooks } = hooksWithFailures();
  for (const name of hookNames) assert.equal(hooks.has(name), false);
  assert.equal(askAcl(hooks), 'ignore');
  assert.deepEqual(foldPublish(hooks), []);
});

test('a told hook that throws is reported and does not stop the others', () => {
  const { hooks, failures } = hooksWithFailures();
  const error = new Error('broken');
  let isTold = false;
  hooks.on('client.connected', 'bad', () => {
    throw error;
  });
  hooks.on('client.connected', 'good', (told, code) => {
    isTold = told === client && code === 7;
  });
  hooks.tell('client.connected', client, 7);
  assert.ok(isTold);
  assert.deepEqual(failures, [{ hook: 'client.connected', owner: 'bad', error }]);
});

test('a told hook that rejects is reported', async () => {
  const { hooks, failures } = hooksWithFailures();
  const error = new Error('broken');
  hooks.on('client.connected', 'bad', (() => Promise.reject(error)) as () => void);
  hooks.tell('client.connected', client, 0);
  await turn();
  assert.deepEqual(failures, [{ hook: 'client.connected', owner: 'bad', error }]);
});

test('an asked hook decides by the first answer that is not ignore', () => {
  const { hooks } = hooksWithFailures();
  hooks.on('client.check_acl', 'a', () => 'ignore');
  hooks.on('client.check_acl', 'b', () => 'allow');
  hooks.on('client.check_acl', 'c', () => assert.fail('asked after the decision'));
  assert.equal(askAcl(hooks), 'allow');
});

test('an asked hook that everybody passes answers ignore', () => {
  const { hooks } = hooksWithFailures();
  hooks.on('client.check_acl', 'a', () => 'ignore');
  assert.equal(askAcl(hooks), 'ignore');
});

test('an asked hook stays in the tick until a listener answers with a promise', async () => {
  const { hooks } = hooksWithFailures();
  const asked: string[] = [];
  hooks.on('client.check_acl', 'now', () => {
    asked.push('now');
    return 'ignore';
  });
  hooks.on('client.check_acl', 'later', async () => {
    asked.push('later');
    return Promise.resolve('ignore');
  });
  hooks.on('client.check_acl', 'last', () => {
    asked.push('last');
    return 'allow';
  });
  const answer = askAcl(hooks);
  assert.deepEqual(asked, ['now', 'later']);
  assert.ok(answer instanceof Promise);
  assert.equal(await answer, 'allow');
  assert.deepEqual(asked, ['now', 'later', 'last']);
});

test('an asked hook that throws denies and asks nobody else', () => {
  const { hooks, failures } = hooksWithFailures();
  const error = new Error('broken');
  hooks.on('client.check_acl', 'bad', () => {
    throw error;
  });
  hooks.on('client.check_acl', 'good', () => 'allow');
  assert.equal(askAcl(hooks), 'deny');
  assert.deepEqual(failures, [{ hook: 'client.check_acl', owner: 'bad', error }]);
});

test('an asked hook that rejects denies, also behind another promise', async () => {
  const { hooks, failures } = hooksWithFailures();
  const error = new Error('broken');
  hooks.on('client.check_acl', 'passes', () => Promise.resolve('ignore' as const));
  hooks.on('client.check_acl', 'bad', () => Promise.reject(error));
  hooks.on('client.check_acl', 'good', () => 'allow');
  assert.equal(await askAcl(hooks), 'deny');
  assert.deepEqual(failures, [{ hook: 'client.check_acl', owner: 'bad', error }]);
});

test('a listener revoked while a chain waits is still asked in that chain, not in the next', async () => {
  const { hooks } = hooksWithFailures();
  const gate = Promise.withResolvers<'ignore'>();
  hooks.on('client.check_acl', 'slow', () => gate.promise);
  hooks.on('client.check_acl', 'gone', () => 'allow');
  const answer = askAcl(hooks);
  hooks.off('gone');
  gate.resolve('ignore');
  assert.equal(await answer, 'allow');
  assert.equal(await askAcl(hooks), 'ignore');
});

test('asking who decided names the owner of the first answer, and of one that fails', async () => {
  const { hooks, failures } = hooksWithFailures();
  const who = (): Promise<{ answer: string; owner: string | undefined }> =>
    hooks.askWho('client.check_acl', 'deny', client, 'publish', 't');
  assert.deepEqual(await who(), { answer: 'ignore', owner: undefined });
  hooks.on('client.check_acl', 'passes', () => Promise.resolve('ignore' as const));
  assert.deepEqual(await who(), { answer: 'ignore', owner: undefined });
  hooks.on('client.check_acl', 'allows', () => 'allow');
  assert.deepEqual(await who(), { answer: 'allow', owner: 'allows' });
  const error = new Error('broken');
  const fail = (): never => {
    throw error;
  };
  hooks.on('client.check_acl', 'fails', fail, 1);
  assert.deepEqual(await who(), { answer: 'deny', owner: 'fails' });
  assert.deepEqual(failures, [{ hook: 'client.check_acl', owner: 'fails', error }]);
});

test('a folded hook hands each change to the next listener', () => {
  const { hooks } = hooksWithFailures();
  hooks.on('client.unsubscribe', 'a', (_client, filters) => [...filters, 'a']);
  hooks.on('client.unsubscribe', 'b', () => undefined);
  hooks.on('client.unsubscribe', 'c', (_client, filters) => [...filters, 'c']);
  const folded = hooks.fold(
    'client.unsubscribe',
    ['x'] as readonly string[],
    (call, filters) => call(client, filters),
    (filters, answer) => answer ?? filters,
  );
  assert.deepEqual(folded, ['x', 'a', 'c']);
});

test('a folded hook that drops ends the chain', () => {
  const { hooks } = hooksWithFailures();
  hooks.on('message.publish', 'a', () => 'drop');
  hooks.on('message.publish', 'b', () => assert.fail('called after the drop'));
  assert.equal(foldPublish(hooks), undefined);
});

test('a folded hook stays in the tick until a promise and drops late as well', async () => {
  const { hooks } = hooksWithFailures();
  const called: string[] = [];
  hooks.on('message.publish', 'a', () => void called.push('a'));
  hooks.on('message.publish', 'b', () => Promise.resolve({ topic: 'b' }));
  hooks.on('message.publish', 'c', () => void called.push('c'));
  const folded = foldPublish(hooks);
  assert.deepEqual(called, ['a']);
  assert.deepEqual(await folded, [undefined, { topic: 'b' }, undefined]);
  hooks.on('message.publish', 'd', () => Promise.resolve('drop' as const), 1);
  assert.equal(await foldPublish(hooks), undefined);
  assert.deepEqual(called, ['a', 'c']);
});

test('a folded hook that throws or rejects is skipped and reported', async () => {
  const { hooks, failures } = hooksWithFailures();
  hooks.on('message.publish', 'throws', () => {
    throw new Error('one');
  });
  hooks.on('message.publish', 'rejects', () => Promise.reject(new Error('two')));
  hooks.on('message.publish', 'good', () => ({ topic: 'good' }));
  assert.deepEqual(await foldPublish(hooks), [{ topic: 'good' }]);
  assert.deepEqual(
    failures.map(({ owner }) => owner),
    ['throws', 'rejects'],
  );
});

test('the list of hook names has each name once', () => {
  assert.equal(new Set(hookNames).size, hookNames.length);
});

test('an asked hook that does not answer in time denies, and what it says later is not heard', async () => {
  const clock = new VirtualClock();
  const failures: Failure[] = [];
  const hooks = new Hooks((hook, owner, error) => failures.push({ hook, owner, error }), {
    clock,
    deadlineMs: 1000,
  });
  const gate = Promise.withResolvers<'allow'>();
  hooks.on('client.check_acl', 'slow', () => gate.promise);
  hooks.on('client.check_acl', 'next', () => assert.fail('asked after the denial'));
  const answer = askAcl(hooks);
  clock.advance(999);
  await turn();
  assert.deepEqual(failures, []);
  clock.advance(1);
  assert.equal(await answer, 'deny');
  assert.deepEqual(
    failures.map(({ owner, error }) => [owner, (error as Error).message]),
    [['slow', 'Cannot wait for client.check_acl any longer: no answer within 1000 ms']],
  );
  gate.resolve('allow');
  await turn();
  assert.equal(failures.length, 1);
});

test('an asked hook that answers in time leaves no timer behind', async () => {
  const clock = new VirtualClock();
  const hooks = new Hooks(() => assert.fail('it failed'), { clock, deadlineMs: 1000 });
  hooks.on('client.check_acl', 'quick', () => Promise.resolve('allow' as const));
  assert.equal(await askAcl(hooks), 'allow');
  await turn();
  clock.advance(5000);
  await turn();
});

test('an owner is replaced as a whole, and whoever watches sees one change', () => {
  const { hooks } = hooksWithFailures();
  const lists: (string[] | undefined)[] = [];
  hooks.on('client.check_acl', 'file', () => 'ignore', -1);
  hooks.on('client.check_acl', 'plugin', () => 'deny');
  hooks.on('client.connected', 'plugin', () => {});
  hooks.onChange = () =>
    void lists.push(hooks.listeners('client.check_acl')?.map(({ owner }) => owner));
  hooks.replace('plugin', [{ hook: 'client.check_acl', call: () => 'allow', priority: undefined }]);
  assert.deepEqual(lists, [['plugin', 'file']]);
  assert.equal(askAcl(hooks), 'allow');
  assert.equal(hooks.has('client.connected'), false);
});

test('whoever counts failures is told the owner', () => {
  const { hooks } = hooksWithFailures();
  const owners: string[] = [];
  hooks.onFailure = (owner) => void owners.push(owner);
  hooks.on('client.connected', 'bad', () => {
    throw new Error('broken');
  });
  hooks.tell('client.connected', client, 0);
  assert.deepEqual(owners, ['bad']);
});

test('an owner that is replaced keeps its place among its equals', () => {
  const { hooks } = hooksWithFailures();
  for (const owner of ['first', 'second', 'third']) {
    hooks.on('client.check_acl', owner, () => 'ignore');
  }
  const wish = (priority?: number): HookWish => {
    return { hook: 'client.check_acl', call: () => 'ignore', priority };
  };
  const owners = () => hooks.listeners('client.check_acl')?.map(({ owner }) => owner);
  hooks.replace('second', [wish(), wish()]);
  assert.deepEqual(owners(), ['first', 'second', 'second', 'third']);
  hooks.replace('second', [wish(-1)]);
  assert.deepEqual(owners(), ['first', 'third', 'second']);
  hooks.replace('second', [wish()]);
  assert.deepEqual(owners(), ['first', 'third', 'second']);
});

test('an owner whose new listeners cannot be taken keeps the old ones', () => {
  const { hooks } = hooksWithFailures();
  hooks.on('client.check_acl', 'plugin', () => 'deny');
  const call = (): 'allow' => 'allow';
  const hook = 'client.check_acl';
  const twice = [
    { hook, call, priority: 0 },
    { hook, call, priority: 1 },
  ] as const;
  assert.throws(() => hooks.replace('plugin', twice), /the same function is there already/);
  const misspelt = { hook: 'client.check_alc' as 'client.check_acl', call, priority: 0 };
  assert.throws(
    () => hooks.replace('plugin', [misspelt]),
    /Cannot hook "client.check_alc" for "plugin": expected one of /,
  );
  assert.throws(() => hooks.on(misspelt.hook, 'plugin', call), /expected one of /);
  assert.equal(askAcl(hooks), 'deny');
});

test('a folded hook that does not answer in time is skipped and reported', async () => {
  const failures: string[] = [];
  const clock = new VirtualClock();
  const hooks = new Hooks((hook, owner) => void failures.push(`${owner} ${hook}`), {
    clock,
    deadlineMs: 100,
  });
  hooks.on('message.publish', 'slow', () => new Promise(() => undefined));
  hooks.on('message.publish', 'good', () => undefined);
  const folded = hooks.fold(
    'message.publish',
    'as it was',
    (call) => call(message),
    (value) => value,
  );
  clock.advance(100);
  assert.equal(await folded, 'as it was');
  assert.deepEqual(failures, ['slow message.publish']);
});
