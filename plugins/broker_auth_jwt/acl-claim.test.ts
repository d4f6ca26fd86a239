import assert from 'node:assert/strict';
import test from 'node:test';
import { isGranted, readGrant } from './acl-claim.ts';

const ann = { clientId: 'c1', username: 'ann' };

function may(claim: unknown, client: typeof ann | { clientId: string; username: undefined }) {
  const grant = readGrant(claim);
  return (action: 'publish' | 'subscribe', topic: string): boolean =>
    isGranted(grant, client, action, topic);
}

test('a grant allows what it lists for the action, and nothing else', () => {
  const isAllowed = may({ pub: ['up/+'], sub: ['down/#'], all: ['both'] }, ann);
  const allowed = ['publish up/x', 'subscribe down/#', 'subscribe down/a/+'];
  const denied = [
    'publish down/x',
    'subscribe up/x',
    'publish up/x/y',
    'subscribe #',
    'subscribe +',
  ];
  for (const [texts, expected] of [
    [[...allowed, 'publish both', 'subscribe both'], true],
    [denied, false],
  ] as const) {
    for (const text of texts) {
      const [action, topic = ''] = text.split(' ');
      assert.equal(isAllowed(action as 'publish', topic), expected, text);
    }
  }
});

test('an empty grant allows nothing', () => {
  for (const claim of [{}, { pub: [] }, { all: [], pub: [], sub: [] }]) {
    const isAllowed = may(claim, ann);
    assert.equal(isAllowed('publish', 'a') || isAllowed('subscribe', 'a'), false);
  }
});

test('# of a grant does not reach topics of the broker', () => {
  const isAllowed = may({ all: ['#', '+/x'] }, ann);
  assert.deepEqual(
    ['$SYS/x', '$SYS/#', 'a/x'].map((topic) => isAllowed('subscribe', topic)),
    [false, false, true],
  );
});

test('%c and %u stand for whole levels', () => {
  const isAllowed = may({ all: ['d/%c/x', '%u/#', 'n-%c', 'n/%cx'] }, ann);
  const topics = ['d/c1/x', 'd/%c/x', 'd/c2/x', 'ann/y', 'bob/y', 'n-c1', 'n-%c', 'n/c1x'];
  assert.deepEqual(
    topics.map((topic) => isAllowed('publish', topic)),
    [true, false, false, true, false, false, true, false],
  );
});

test('%u of a client without a name matches nothing', () => {
  const isAllowed = may({ all: ['%u/x'] }, { clientId: 'c', username: undefined });
  assert.equal(isAllowed('publish', '%u/x') || isAllowed('publish', 'undefined/x'), false);
});

test('a client id or name that is a wildcard or several levels gets nothing (CVE-2017-7650)', () => {
  for (const name of ['+', '#', 'a/b', 'x#', '+/#', '/']) {
    for (const isAllowed of [
      may({ all: ['d/%c/x', 'd/%c', '%c'] }, { clientId: name, username: undefined }),
      may({ all: ['d/%u/x', 'd/%u', '%u'] }, { clientId: 'c', username: name }),
    ]) {
      for (const topic of ['d/other/x', 'd/#', `d/${name}/x`, `d/${name}`, 'd/a', 'other', name]) {
        assert.equal(isAllowed('subscribe', topic), false, `${name} ${topic}`);
      }
    }
  }
  const system = may({ all: ['%u/#'] }, { clientId: 'c', username: '$SYS' });
  assert.equal(system('subscribe', '$SYS/#'), false);
});

test('a claim that cannot be read is no claim that is missing', () => {
  const faulty = [
    null,
    [],
    ['a'],
    'a',
    true,
    { pub: 'a' },
    { sub: [7] },
    { all: [''] },
    { all: ['a/#/b'] },
    { all: ['a+'] },
    { publish: ['a'] },
    { pub: null },
  ];
  for (const claim of faulty) assert.throws(() => readGrant(claim), JSON.stringify(claim));
});
