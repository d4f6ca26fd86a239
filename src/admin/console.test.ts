import assert from 'node:assert/strict';
import test from 'node:test';
import { nullLogger } from '#base/log';
import { Console } from './console.ts';
import { quietCaller, RecordingScreen, smallCatalogue } from './console-fixture.ts';

const node = 'n@h';

interface Outcome {
  readonly exitCode: number;
  readonly out: string;
  readonly err: string;
}

async function run(words: string, isJson = false, rows = 3): Promise<Outcome> {
  const screen = new RecordingScreen();
  const prompt = new Console({ catalogue: smallCatalogue(rows), node, log: nullLogger });
  const args = words === '' ? [] : words.split(' ');
  const exitCode = await prompt.run({ args, isJson }, quietCaller(), screen);
  return { exitCode, ...screen.answer };
}

const thingsUsage = `things list                                     # List things
things                                          # Make one
things make <Name> [<SizeBytes>] [-d <Descr>] [--for <Lasting>]
                                                # Make a thing
things make many <Names>...                     # Make a thing
things shape <Name> <Json>                      # Make a thing
`;

test('the console explains everything when nothing or help is asked', async () => {
  const nothing = await run('');
  assert.equal(nothing.exitCode, 0);
  const rule = '-'.repeat(80);
  assert.ok(nothing.out.startsWith(`Usage: broker_ctl\n${rule}\n${thingsUsage}${rule}\nnothing `));
  assert.match(nothing.out, /\ncompletion bash\|zsh\|fish {24}# Print a script/);
  assert.deepEqual(await run('help'), nothing);
});

test('the console prints the full usage and fails for a command that nobody knows', async () => {
  const { out } = await run('');
  for (const [words, hint] of [
    ['dance', ''],
    ['dance now', ''],
    ['thing list', ', did you mean "things"?'],
    ['help dance', ''],
    ['help nohting', ', did you mean "nothing"?'],
  ] as const) {
    const err = `Cannot run "${words}": unknown command${hint}\n`;
    assert.deepEqual(await run(words), { exitCode: 1, out, err }, words);
  }
});

test('the console prints the usage of a group for wrong arguments and for its help', async () => {
  const wrong = ['things dance', 'things list all', 'things make', 'things make a 1 2'];
  for (const words of [...wrong, 'things make a -d', 'things make many']) {
    const err = `Cannot run "${words}": wrong arguments\n`;
    assert.deepEqual(await run(words), { exitCode: 0, out: thingsUsage, err }, words);
  }
  for (const words of ['help things', 'things help']) {
    assert.deepEqual(await run(words), { exitCode: 0, out: thingsUsage, err: '' }, words);
  }
  const { exitCode, out, err } = await run('fail');
  assert.deepEqual([exitCode, err], [0, ''], 'a group alone asks what it has');
  assert.match(out, /^fail plainly /);
});

test('the console says which argument is wrong, above the usage', async () => {
  const { exitCode, out, err } = await run('things make a small');
  assert.equal(exitCode, 0);
  assert.equal(out, thingsUsage);
  assert.equal(err, 'Cannot use size_bytes = "small": expected an integer of at least 1\n');
});

test('the console gives arguments and options by name, and the longest words win', async () => {
  const cases = [
    ['things', { name: 'none' }],
    ['things make a', { name: 'a' }],
    ['things make a 5', { name: 'a', size_bytes: 5 }],
    ['things make -d long a', { name: 'a', descr: 'long' }],
    ['things make a --for=5m', { name: 'a', lasting: '5m' }],
    ['things make -x', { name: '-x' }],
    ['things make many', undefined],
    ['things make many a b', { name: 'all', names: ['a', 'b'] }],
    ['things shape s {"sides":3}', { name: 's', shape: { sides: 3 } }],
  ] as const;
  for (const [words, params] of cases) {
    const expected = params === undefined ? thingsUsage : `${JSON.stringify(params)}\n`;
    const { out } = await run(words);
    if (params === undefined) assert.equal(out, expected);
    else assert.deepEqual(JSON.parse(out), params, words);
  }
  const { err } = await run('things shape s {"sides"');
  assert.equal(err, 'Cannot use shape = "{\\"sides\\"": expected an object\n');
});

test('the console prints all pages of a list, and nothing for an empty one', async () => {
  const { out, exitCode } = await run('things list', false, 25);
  assert.equal(exitCode, 0);
  assert.equal(out, Array.from({ length: 25 }, (_, i) => `thing ${i}\n`).join(''));
  assert.deepEqual(await run('things list', false, 0), { exitCode: 0, out: '', err: '' });
  assert.deepEqual(await run('nothing'), { exitCode: 0, out: '', err: '' });
});

test('the console prints one JSON document, whatever comes of the command', async () => {
  const cases = [
    ['things list', 0, [...Array(25).keys()]],
    ['things make a 5', 0, { name: 'a', size_bytes: 5 }],
    ['nothing', 0, null],
    ['fail nicely', 1, { code: 102, message: 'not today' }],
    ['dance', 1, { code: 404, message: 'Cannot run "dance": unknown command' }],
    ['things dance', 1, { code: 108, message: 'Cannot run "things dance": wrong arguments' }],
    [
      'things make a 0',
      1,
      { code: 108, message: 'Cannot use size_bytes = 0: expected an integer of at least 1' },
    ],
  ] as const;
  for (const [words, exitCode, document] of cases) {
    const outcome = await run(words, true, 25);
    assert.deepEqual(JSON.parse(outcome.out), document, words);
    assert.deepEqual([outcome.exitCode, outcome.err], [exitCode, ''], words);
  }
  assert.equal((await run('things list', true, 0)).out, '[]\n');
  const help = JSON.parse((await run('help nothing', true)).out) as { usage: readonly string[] };
  assert.equal(help.usage.length, 1);
});

test('the console says what the world did in the words of the operation, and fails', async () => {
  assert.deepEqual(await run('fail plainly'), { exitCode: 1, out: '', err: 'not today\n' });
  assert.deepEqual(await run('fail nicely'), { exitCode: 1, out: 'Sorry: not today\n', err: '' });
});

test('the console calls a failure of our own one, and logs it without its arguments', async () => {
  const screen = new RecordingScreen();
  const logged: unknown[] = [];
  const log = { ...nullLogger, error: (...args: unknown[]) => void logged.push(args) };
  const prompt = new Console({ catalogue: smallCatalogue(1), node, log });
  const line = { args: ['fail', 'badly'], isJson: false };
  assert.equal(await prompt.run(line, quietCaller(), screen), 1);
  assert.deepEqual(screen.answer, { out: '', err: 'RPC to n@h error: we did that\n' });
  assert.deepEqual(logged, [['command.failed', { command: 'fail badly', error: 'we did that' }]]);
});

test('the console stops asking for pages when its caller is gone', async () => {
  const gone = new AbortController();
  const asked: number[] = [];
  const onPage = (page: number): void => {
    asked.push(page);
    if (page === 3) gone.abort();
  };
  const catalogue = smallCatalogue(1000, { onPage });
  const prompt = new Console({ catalogue, node, log: nullLogger });
  const line = { args: ['things', 'list'], isJson: false };
  await prompt.run(line, quietCaller(gone.signal), new RecordingScreen());
  assert.deepEqual(asked, [1, 2, 3]);
});
