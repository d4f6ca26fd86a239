import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { type Clock, systemClock, VirtualClock } from '#base/clock';
import { nullLogger } from '#base/log';
import { controlSocketName, socketPath } from '#base/socket-path';
import { smallCatalogue } from './console-fixture.ts';
import { openControlSocket } from './control-socket.ts';

interface Line {
  readonly out?: string;
  readonly err?: string;
  readonly exit?: number;
}

async function place(t: TestContext, sub = '', clock: Clock = systemClock) {
  const root = mkdtempSync(join(tmpdir(), 'broker-control-'));
  const dataDir = join(root, sub);
  mkdirSync(dataDir, { recursive: true });
  const { promise: streamEnded, resolve: onStreamEnd } = Promise.withResolvers<void>();
  const catalogue = smallCatalogue(25, { onStreamEnd });
  const parts = { catalogue, dataDir, node: 'n@h', clock, log: nullLogger };
  const control = await openControlSocket(parts);
  t.after(async () => {
    await control[Symbol.asyncDispose]();
    rmSync(root, { recursive: true });
  });
  return { dataDir, control, streamEnded };
}

/** Turns of the loop until it is so. */
async function turnsUntil(isSo: () => boolean): Promise<void> {
  for (let turns = 0; !isSo(); turns++) {
    assert.ok(turns < 100_000, 'it never is so');
    await new Promise(setImmediate);
  }
}

function open(dataDir: string): Socket {
  using found = socketPath(dataDir, controlSocketName);
  return connect(found.path).setEncoding('utf8');
}

async function answer(socket: Socket): Promise<Line[]> {
  let text = '';
  for await (const piece of socket as AsyncIterable<string>) text += piece;
  const lines = text.split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Line);
}

async function ask(dataDir: string, request: unknown): Promise<Line[]> {
  const socket = open(dataDir);
  socket.write(`${typeof request === 'string' ? request : JSON.stringify(request)}\n`);
  return answer(socket);
}

for (const [kind, sub] of [
  ['short', ''],
  ['long', 'long-'.repeat(30)],
] as const) {
  test(`the control socket answers in a data directory with a ${kind} path`, async (t) => {
    const { dataDir, control } = await place(t, sub);
    const lines = await ask(dataDir, { args: ['things', 'make', 'a'], json: false });
    assert.deepEqual(lines, [{ out: '{"name":"a"}\n' }, { exit: 0 }]);
    assert.equal(statSync(join(dataDir, controlSocketName)).mode & 0o777, 0o600);
    assert.deepEqual(readdirSync(dataDir), [controlSocketName], 'nothing else is left');
    await control[Symbol.asyncDispose]();
    assert.equal(existsSync(join(dataDir, controlSocketName)), false);
  });
}

test('the control socket takes the place of one that a killed node left', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'broker-control-'));
  t.after(() => rmSync(dataDir, { recursive: true }));
  writeFileSync(join(dataDir, controlSocketName), '');
  const catalogue = smallCatalogue(1);
  const parts = { catalogue, dataDir, node: 'n@h', clock: systemClock, log: nullLogger };
  await using _control = await openControlSocket(parts);
  assert.deepEqual(await ask(dataDir, { args: ['nothing'] }), [{ exit: 0 }]);
});

test('a node that cannot open its control socket says so and goes on', async () => {
  const logged: string[] = [];
  const log = { ...nullLogger, error: (event: string) => void logged.push(event) };
  const parts = { catalogue: smallCatalogue(1), node: 'n@h', clock: systemClock, log };
  await using _control = await openControlSocket({ ...parts, dataDir: '/nowhere/at/all' });
  assert.deepEqual(logged, ['control.closed']);
});

test('the control socket refuses what is no request', async (t) => {
  const { dataDir } = await place(t);
  const requests = [
    '',
    'help',
    '{"args":"help"}',
    '{"args":[1]}',
    '[]',
    'null',
    '{"args":[],"json":1}',
  ];
  for (const request of requests) {
    const [first, last] = await ask(dataDir, request);
    assert.match(first?.err ?? '', /^Cannot read the request: expected /, request);
    assert.deepEqual(last, { exit: 1 });
  }
});

test('the control socket refuses a request that is too long, with or without an end', async (t) => {
  const { dataDir } = await place(t);
  const args = ['x'.repeat(70_000)];
  const expected = [
    { err: 'Cannot read the request: it has more than 65536 bytes\n' },
    { exit: 1 },
  ];
  assert.deepEqual(await ask(dataDir, { args }), expected);
  const socket = open(dataDir);
  socket.write('x'.repeat(70_000));
  assert.deepEqual(await answer(socket), expected);
});

test('the control socket does not wait for a request without end', async (t) => {
  const clock = new VirtualClock();
  const { dataDir } = await place(t, '', clock);
  const socket = open(dataDir);
  socket.write('{"args":');
  await turnsUntil(() => clock.timerCount === 1);
  clock.advance(10_000);
  const [first] = await answer(socket);
  assert.match(first?.err ?? '', /did not come within 10000 ms/);
});

test('the control socket ends a caller that does not read, and its command', async (t) => {
  const clock = new VirtualClock();
  const { dataDir, streamEnded } = await place(t, '', clock);
  const socket = open(dataDir);
  socket.on('error', () => {});
  socket.pause();
  await turnsUntil(() => clock.timerCount === 1);
  socket.write('{"args":["stream"]}\n');
  // The timer of the request goes, that of the full pipe comes.
  await turnsUntil(() => clock.timerCount === 0);
  await turnsUntil(() => clock.timerCount === 1);
  clock.advance(60_000);
  await streamEnded;
  const closed = once(socket, 'close');
  socket.resume();
  await closed;
});

test('the control socket ends the command of a caller that goes away', async (t) => {
  const { dataDir, streamEnded } = await place(t);
  const socket = open(dataDir);
  socket.write('{"args":["stream"]}\n');
  await once(socket, 'data');
  socket.destroy();
  await streamEnded;
});

test('the control socket serves 32 callers at a time and tells the next one', async (t) => {
  const { dataDir } = await place(t);
  const callers = Array.from({ length: 32 }, () => open(dataDir));
  for (const caller of callers) {
    caller.on('error', () => {});
    caller.write('{"args":["stream"]}\n');
    await once(caller, 'data');
  }
  const expected = 'Cannot run a command: 32 are running, which is the limit\n';
  assert.deepEqual(await ask(dataDir, { args: ['nothing'] }), [{ err: expected }, { exit: 1 }]);
  for (const caller of callers) caller.destroy();
  // A place is free when the node has seen it.
  for (;;) {
    const [line] = await ask(dataDir, { args: ['nothing'] });
    if (line?.exit === 0) break;
  }
});

test('the control socket closes though somebody who was refused stays', async (t) => {
  const { dataDir, control } = await place(t);
  using found = socketPath(dataDir, controlSocketName);
  const { path } = found;
  // Each keeps its half open, whatever it is told.
  const callers = Array.from({ length: 33 }, () => connect({ path, allowHalfOpen: true }));
  for (const caller of callers) caller.on('error', () => {});
  const [told] = (await Promise.race(callers.map((caller) => once(caller, 'data')))) as [Buffer];
  assert.match(told.toString(), /32 are running/);
  await control[Symbol.asyncDispose]();
  for (const caller of callers) caller.destroy();
});

test('the control socket ends a caller that stays when it was answered', async (t) => {
  const clock = new VirtualClock();
  const { dataDir } = await place(t, '', clock);
  using found = socketPath(dataDir, controlSocketName);
  const socket = connect({ path: found.path, allowHalfOpen: true });
  socket.on('error', () => {});
  socket.write('{"args":["nothing"]}\n');
  await once(socket.resume(), 'end');
  assert.equal(clock.timerCount, 1);
  clock.advance(60_000);
  // Written to, a connection that is gone says so.
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  socket.once('close', resolve);
  socket.write('x');
  await closed;
  assert.equal(clock.timerCount, 0);
});
