import assert from 'node:assert/strict';
import test from 'node:test';
import { createLog, nullLogger, openLog } from './log.ts';
import { consoleSink, readable } from './log-console.ts';
import type { LogSink } from './log-sink.ts';

/** A destination that keeps its lines as objects. */
function memorySink(): LogSink & { readonly lines: Record<string, unknown>[] } {
  const lines: Record<string, unknown>[] = [];
  return {
    lines,
    write: (line) => {
      assert.ok(line.endsWith('\n'));
      lines.push(JSON.parse(line));
    },
    [Symbol.asyncDispose]: async () => {},
  };
}

test('a log line has a level, a time, the event and the fields', () => {
  const sink = memorySink();
  createLog('info', [{ from: 'trace', sink }]).warn('outbox.full', { clientId: 'c', bytes: 3 });
  const [line] = sink.lines;
  assert.match(String(line?.['time']), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.deepEqual(
    { ...line, time: '' },
    { level: 'warning', time: '', event: 'outbox.full', clientId: 'c', bytes: 3 },
  );
});

test('the level can change while the log is in use, for its children as well', () => {
  const sink = memorySink();
  const log = createLog('notice', [{ from: 'trace', sink }]);
  const child = log.child({ part: 'x' });
  const everything = (): void => {
    for (const level of ['error', 'warn', 'info', 'debug', 'trace'] as const) child[level](level);
  };
  const heard = (): unknown[] => sink.lines.splice(0).map((line) => line['event']);
  everything();
  assert.deepEqual(heard(), ['error', 'warn']);
  log.setLevel('trace');
  assert.equal(log.level, 'trace');
  everything();
  assert.deepEqual(heard(), ['error', 'warn', 'info', 'debug', 'trace']);
  log.setLevel('emergency');
  everything();
  assert.deepEqual(heard(), []);
  assert.equal(child.isEnabled('alert'), false);
  assert.equal(child.isEnabled('emergency'), true);
});

test('a child adds its fields, and the fields of an event win', () => {
  const sink = memorySink();
  const child = createLog('info', [{ from: 'trace', sink }])
    .child({ a: 1, b: 1 })
    .child({ b: 2 });
  child.info('x', { c: 3 });
  child.info('y', { a: 9 });
  const fields = sink.lines.map(({ a, b, c }) => [a, b, c]);
  assert.deepEqual(fields, [
    [1, 2, 3],
    [9, 2, undefined],
  ]);
});

test('secrets and payloads are hidden by name at every depth, bytes are only counted', () => {
  const sink = memorySink();
  const log = createLog('info', [{ from: 'trace', sink }]).child({ secret: 's' });
  log.info('x', {
    password: 'p',
    Authorization: 'Basic p',
    auth_data: 'p',
    packet: { payload: 'p', topic: 't', will: { payload: Buffer.from('p') } },
    list: [{ password: 'p' }],
    map: new Map([['password', 'p']]),
    bytes: new Uint8Array(3),
  });
  const [line] = sink.lines;
  assert.equal(line?.['secret'], '[hidden]');
  assert.equal(line?.['password'], '[hidden]');
  assert.equal(line?.['Authorization'], '[hidden]');
  assert.equal(line?.['auth_data'], '[hidden]');
  assert.deepEqual(line?.['packet'], {
    payload: '[hidden]',
    topic: 't',
    will: { payload: '[hidden]' },
  });
  assert.deepEqual(line?.['list'], [{ password: '[hidden]' }]);
  assert.deepEqual(line?.['map'], { password: '[hidden]' });
  assert.equal(line?.['bytes'], '[3 bytes]');
});

test('errors are written with their cause, and a ring of objects ends', () => {
  const sink = memorySink();
  const log = createLog('info', [{ from: 'trace', sink }]);
  const cause = Object.assign(new Error('inner'), { code: 'EACCES' });
  const ring: Record<string, unknown> = {};
  ring['self'] = ring;
  log.error('failed', { error: new Error('outer', { cause }), ring, big: 1n });
  const error = sink.lines[0]?.['error'] as Record<string, unknown>;
  assert.equal(error['message'], 'outer');
  assert.equal((error['cause'] as Record<string, unknown>)['code'], 'EACCES');
  assert.deepEqual(sink.lines[0]?.['ring'], { self: { self: { self: '[deeper]' } } });
  assert.equal(sink.lines[0]?.['big'], '1');
});

test('long texts are cut to the limit', () => {
  const sink = memorySink();
  const log = createLog('info', [{ from: 'trace', sink }], 4);
  log.info('a.long.event.name', { short: 'abcd', long: 'abcde', in: { long: 'abcde' } });
  const { event, short, long, in: inner } = sink.lines[0] ?? {};
  assert.deepEqual([event, short, long], ['a.long.event.name', 'abcd', 'abcd…']);
  assert.deepEqual(inner, { long: 'abcd…' });
});

test('a route gets its level and the more severe ones', () => {
  const all = memorySink();
  const severe = memorySink();
  const log = createLog('debug', [
    { from: 'trace', sink: all },
    { from: 'warning', sink: severe },
  ]);
  log.debug('a');
  log.warn('b');
  log.error('c');
  assert.deepEqual(
    all.lines.map((line) => line['event']),
    ['a', 'b', 'c'],
  );
  assert.deepEqual(
    severe.lines.map((line) => line['event']),
    ['b', 'c'],
  );
});

test('a log that is off is enabled for nothing', async () => {
  await using log = openLog({
    to: 'off',
    level: 'debug',
    dir: '/nonexistent',
    file: 'x',
    charsLimit: -1,
    rotationBytes: 1024,
    rotationCount: 1,
    levelFiles: new Map([['error', 'y']]),
  });
  assert.equal(log.isEnabled('emergency'), false);
  assert.equal(log.child({}).isEnabled('emergency'), false);
  log.error('nobody hears this');
  assert.equal(nullLogger.child({}).isEnabled('error'), false);
});

test('a handler takes what its own level lets through, from the moment that it is set', () => {
  const [all, some] = [memorySink(), memorySink()];
  const log = createLog('debug', [
    { from: 'trace', sink: all },
    { id: 'file', from: 'error', destination: 'log/x.log', sink: some },
  ]);
  log.info('one');
  assert.equal(log.setHandlerLevel('file', 'info'), true);
  log.info('two');
  log.writeLine(30, '{"event":"relayed"}\n');
  assert.equal(log.setHandlerLevel('file', 'critical'), true);
  log.error('three');
  assert.equal(log.setHandlerLevel('default', 'info'), false);
  const heard = ({ lines }: { readonly lines: readonly Record<string, unknown>[] }): unknown[] =>
    lines.map((line) => line['event']);
  assert.deepEqual(heard(all), ['one', 'two', 'relayed', 'three']);
  assert.deepEqual(heard(some), ['two', 'relayed']);
  assert.deepEqual(log.handlers, [{ id: 'file', level: 'critical', destination: 'log/x.log' }]);
});

test('openLog names its handlers', async () => {
  await using log = openLog({
    to: 'both',
    level: 'info',
    dir: 'log',
    file: 'broker.log',
    charsLimit: -1,
    rotationBytes: 1000,
    rotationCount: 1,
    levelFiles: new Map([['error', 'error.log']]),
  });
  assert.deepEqual(log.handlers, [
    { id: 'default', level: 'trace', destination: 'console' },
    { id: 'file', level: 'trace', destination: 'log/broker.log' },
    { id: 'error', level: 'error', destination: 'log/error.log' },
  ]);
});

test('the console shows JSON to programs and a readable line to people', () => {
  const written: string[] = [];
  const stream = (isTTY: boolean) => ({
    isTTY,
    on: () => {},
    write: (text: string) => written.push(text) > 0,
  });
  const line = `${JSON.stringify({ level: 'info', time: '2026-01-02T03:04:05.678Z', event: 'e', a: 'b', c: 'd e', n: 1 })}\n`;
  consoleSink(stream(false)).write(line);
  consoleSink(stream(true)).write(line);
  assert.deepEqual(written, [line, '03:04:05.678 info    e a=b c="d e" n=1\n']);
  assert.equal(readable(line), written[1]);
});

test('the console hands no character to a terminal that it would obey', () => {
  const show = (clientId: unknown): string =>
    readable(
      JSON.stringify({ level: 'info', time: '2026-01-02T03:04:05.678Z', event: 'e', clientId }),
    );
  const begin = '03:04:05.678 info    e clientId=';
  assert.equal(show('\x1b]0;x\x07\x1b[2J'), `${begin}"\\u001b]0;x\\u0007\\u001b[2J"\n`);
  assert.equal(show('a\x7fb\x9bc'), `${begin}"a\\u007fb\\u009bc"\n`);
  assert.equal(show('\u202egnp'), `${begin}"\\u202egnp"\n`);
  assert.equal(show(['\x9b', '\u{e0001}']), `${begin}["\\u009b","\\udb40\\udc01"]\n`);
  assert.equal(show('größe/温度🌡'), `${begin}größe/温度🌡\n`);
  for (const [plain, shown] of [
    ['a=b', '"a=b"'],
    ['a"b', '"a\\"b"'],
    ['a b', '"a b"'],
    ['', '""'],
  ]) {
    assert.equal(show(plain), `${begin}${shown}\n`);
  }
});
