import assert from 'node:assert/strict';
import test from 'node:test';
import {
  filterFault,
  hasWildcard,
  isSystem,
  levelCount,
  mount,
  mountpointFor,
  parseFilter,
  topicNameFault,
  unmount,
} from './topic.ts';

const longest = 'a'.repeat(65535);

test('[MQTT-4.7.0-1] a topic name holds no wildcard', () => {
  assert.equal(topicNameFault('a/+/b'), 'wildcard "+" is not allowed in a topic name');
  assert.equal(topicNameFault('a/b#'), 'wildcard "#" is not allowed in a topic name');
  assert.equal(topicNameFault('a/b'), undefined);
});

test('[MQTT-4.7.3-1] a name or filter has at least one character', () => {
  const fault = 'it is empty, at least one character is wanted';
  assert.equal(topicNameFault(''), fault);
  assert.equal(filterFault(''), fault);
  assert.equal(topicNameFault('/'), undefined);
  assert.equal(filterFault('/'), undefined);
});

test('[MQTT-4.7.3-2] a name or filter holds no U+0000', () => {
  assert.equal(topicNameFault('a\0b'), 'U+0000 is not allowed');
  assert.equal(filterFault('a/\0/#'), 'U+0000 is not allowed');
});

test('[MQTT-4.7.3-3] a name or filter has at most 65535 bytes of UTF-8', () => {
  const fault = '65536 bytes are too long, the limit is 65535';
  assert.equal(topicNameFault(longest), undefined);
  assert.equal(filterFault(longest), undefined);
  assert.equal(topicNameFault(`${longest}a`), fault);
  assert.equal(filterFault(`${longest}a`), fault);
  assert.equal(topicNameFault('é'.repeat(32767)), undefined);
  assert.equal(topicNameFault('é'.repeat(32768)), fault);
});

test('[MQTT-4.7.3-4] a name is taken as it is, without normalisation', () => {
  for (const name of [' ', 'A', 'é', 'e\u0301', '\uFEFFa', 'a ', '/a/', 'a//b']) {
    assert.equal(topicNameFault(name), undefined);
    assert.deepEqual(parseFilter(name), { group: undefined, filter: name });
    assert.equal(mount('m/', name), `m/${name}`);
  }
});

test('[MQTT-4.7.1-1] "#" stands alone in the last level of a filter', () => {
  for (const filter of ['#', 'a/#', '/#', '+/#', '//#']) {
    assert.equal(filterFault(filter), undefined, filter);
  }
  for (const filter of ['a#', '#a', '#/a', 'a/#/b', 'a/b#', '##', 'a/##', '+#']) {
    assert.match(filterFault(filter) ?? '', /whole|last/, filter);
  }
});

test('[MQTT-4.7.1-2] "+" occupies a whole level of a filter', () => {
  for (const filter of ['+', '+/+', '/+', '+/', 'a/+/b', '+/a']) {
    assert.equal(filterFault(filter), undefined, filter);
  }
  for (const filter of ['a+', '+a', 'a/b+/c', 'a/+b', '++', '+/++']) {
    assert.equal(filterFault(filter), 'wildcard "+" is allowed only as a whole level', filter);
  }
});

test('[MQTT-4.8.2-1] a shared filter has a share name', () => {
  assert.equal(filterFault('$share//t'), 'the share name is empty');
  assert.equal(filterFault('$share/'), 'the share name is empty');
  assert.equal(filterFault('$share/g/t'), undefined);
});

test('[MQTT-4.8.2-2] a share name holds no wildcard and is followed by a filter', () => {
  for (const filter of ['$share/+/t', '$share/#', '$share/g+/t', '$share/a#/t']) {
    assert.equal(filterFault(filter), 'a wildcard is not allowed in the share name', filter);
  }
  for (const filter of ['$share/g', '$share/g/', '$queue/']) {
    assert.equal(filterFault(filter), 'a filter is wanted after the shared prefix', filter);
  }
  assert.equal(filterFault('$share/g/#'), undefined);
  assert.equal(filterFault('$share/g//'), undefined);
  assert.equal(filterFault('$queue/+/a'), undefined);
});

test('a shared filter is refused when its own filter is malformed or shared again', () => {
  assert.match(filterFault('$share/g/a#') ?? '', /"#"/);
  assert.match(filterFault('$queue/a+') ?? '', /"\+"/);
  const nested = 'a shared subscription is not allowed inside another';
  for (const outer of ['$share/g/', '$queue/']) {
    for (const inner of ['$share/g/t', '$queue/t', '$share/g']) {
      assert.equal(filterFault(outer + inner), nested, outer + inner);
    }
  }
});

test('a filter that only resembles a shared one is plain', () => {
  for (const filter of ['$share', '$queue', '$shared/g/t', '$SYS/#', 'a/$share/g/t']) {
    assert.equal(filterFault(filter), undefined, filter);
    assert.deepEqual(parseFilter(filter), { group: undefined, filter });
  }
});

test('parseFilter takes the group and the filter apart', () => {
  assert.deepEqual(parseFilter('$share/g/a/#'), { group: 'g', filter: 'a/#' });
  assert.deepEqual(parseFilter('$share/g//'), { group: 'g', filter: '/' });
  assert.deepEqual(parseFilter('$queue/a/+'), { group: '$queue', filter: 'a/+' });
  assert.deepEqual(parseFilter('a/$queue/b'), { group: undefined, filter: 'a/$queue/b' });
});

test('levelCount counts empty levels too', () => {
  assert.equal(levelCount('a'), 1);
  assert.equal(levelCount('a/b'), 2);
  assert.equal(levelCount('/'), 2);
  assert.equal(levelCount('a//b/'), 4);
  assert.equal(levelCount('/'.repeat(65535)), 65536);
});

test('hasWildcard and isSystem look at the text alone', () => {
  assert.equal(hasWildcard('a/+'), true);
  assert.equal(hasWildcard('#'), true);
  assert.equal(hasWildcard('$share/g/a'), false);
  assert.equal(isSystem('$SYS/a'), true);
  assert.equal(isSystem('a/$SYS'), false);
  assert.equal(isSystem(''), false);
});

test('mountpointFor replaces placeholders that are whole levels', () => {
  assert.equal(mountpointFor('dev/%c/%u/', 'c1', 'u1'), 'dev/c1/u1/');
  assert.equal(mountpointFor('%c%u/a%c/%x/', 'c1', 'u1'), '%c%u/a%c/%x/');
  assert.equal(mountpointFor('%u/', 'c1', undefined), '%u/');
  assert.equal(mountpointFor('%u/%c/', '%u', '%c'), '%c/%u/');
  assert.equal(mountpointFor('/%c/', 'c1', undefined), '/c1/');
  assert.equal(mountpointFor('', 'c1', 'u1'), '');
});

test('mountpointFor ends in a slash when the template does not', () => {
  assert.equal(mountpointFor('%c', 'a', undefined), 'a/');
  assert.equal(mountpointFor('a/b', 'c', undefined), 'a/b/');
  assert.equal(mountpointFor('/', 'c', undefined), '/');
  assert.equal(mountpointFor('%u', 'c', ''), '/');
});

test('mountpointFor refuses a client id or username that would mean more than one level', () => {
  for (const evil of ['+', '#', 'a+', 'a/b', '/', 'a\0', '$share', '$SYS']) {
    assert.equal(mountpointFor('%c/', evil, undefined), undefined, evil);
    assert.equal(mountpointFor('%u/', 'c', evil), undefined, evil);
    assert.equal(mountpointFor('a/', evil, evil), 'a/', evil);
  }
  assert.equal(mountpointFor('a/%c/', '$SYS', undefined), 'a/$SYS/');
  assert.equal(mountpointFor('$tenants/%c/', 'c', undefined), '$tenants/c/');
  assert.equal(mountpointFor('%c/', longest, undefined), undefined);
});

test('mount puts the prefix before topics and inside shared filters', () => {
  assert.equal(mount('m/', 'a/b'), 'm/a/b');
  assert.equal(mount('m/', '#'), 'm/#');
  assert.equal(mount('m/', '$share/g/a/#'), '$share/g/m/a/#');
  assert.equal(mount('m/', '$queue/a'), '$queue/m/a');
  assert.equal(mount('m/', '$SYS/a'), 'm/$SYS/a');
});

test('unmount undoes mount and leaves other topics alone', () => {
  for (const topic of ['a/b', '#', '/', 'm/m/', '$share/g/a', '$queue/a', '$SYS/a']) {
    assert.equal(unmount('m/', mount('m/', topic)), topic);
    assert.equal(unmount('', mount('', topic)), topic);
  }
  assert.equal(unmount('m/', 'n/a'), 'n/a');
});
