import assert from 'node:assert/strict';
import test from 'node:test';
import { CtlUsageError, parseCtl } from './ctl-arguments.ts';

const nothing = {
  words: [],
  isJson: false,
  isVersion: false,
  configFile: undefined,
  dataDir: undefined,
  sets: [],
};

const cases: readonly (readonly [argv: string, parsed: object])[] = [
  ['clients list', { words: ['clients', 'list'] }],
  ['-c a.conf status', { configFile: 'a.conf', words: ['status'] }],
  [
    '--config=a.conf --data-dir d status',
    { configFile: 'a.conf', dataDir: 'd', words: ['status'] },
  ],
  ['status --data-dir d --json', { dataDir: 'd', isJson: true, words: ['status'] }],
  ['resources create t -c {} -d x', { words: ['resources', 'create', 't', '-c', '{}', '-d', 'x'] }],
  ['clients show -- --json', { words: ['clients', 'show', '--json'] }],
  ['--set a=b --set=c=d x', { sets: ['a=b', 'c=d'], words: ['x'] }],
  ['-h', { words: ['help'] }],
  ['--version', { isVersion: true }],
  ['show -1', { words: ['show', '-1'] }],
];

test('parseCtl tells what is for the program from what is for the node', () => {
  for (const [argv, parsed] of cases) {
    assert.deepEqual(parseCtl(argv.split(' ')), { ...nothing, ...parsed }, argv);
  }
});

test('parseCtl refuses an option that it does not know or that has no value', () => {
  for (const argv of [['-x', 'status'], ['--jsn', 'status'], ['status', '--config'], ['-c']]) {
    assert.throws(() => parseCtl(argv), CtlUsageError, argv.join(' '));
  }
});
