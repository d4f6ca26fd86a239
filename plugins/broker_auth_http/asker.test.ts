// Asks a real server that has every fault; time is virtual, so that nothing is waited for.

import assert from 'node:assert/strict';
import test from 'node:test';
import type { Logger } from '#sdk';
import { WatchedClock } from '#test/watched-clock';
import { Asker, type NoAnswer } from './asker.ts';
import {
  AuthServer,
  type Answer,
  faults,
  makePair,
  say,
  temporaryDir,
} from './auth-server-fixture.ts';
import type { EndpointSettings, HttpAuthSettings, TlsFiles } from './config.ts';
import { Endpoint } from './endpoint.ts';
import type { HttpReply } from './exchange.ts';

const noTls: TlsFiles = { caFile: undefined, certFile: undefined, keyFile: undefined };
const defaults: HttpAuthSettings = {
  auth: undefined,
  superuser: undefined,
  acl: undefined,
  headers: {},
  tls: noTls,
  timeoutMs: 5000,
  connectTimeoutMs: 3000,
  retryTimes: 0,
  retryIntervalMs: 1000,
  retryBackoff: 2,
  poolSize: 128,
  pendingMax: 1000,
  breakerFailures: 100,
  breakerPauseMs: 700,
};

class Trial implements Disposable {
  readonly clock = new WatchedClock();
  readonly asker: Asker;
  readonly told: (readonly string[])[] = [];
  readonly lines: string[] = [];
  readonly #endpoint: Endpoint;

  constructor(url: string, changes: Partial<HttpAuthSettings> = {}, hookDeadlineMs = 10_000) {
    const settings = { ...defaults, ...changes };
    const auth: EndpointSettings = { url, method: 'get', params: [], bodyKind: 'form' };
    this.#endpoint = new Endpoint(auth, settings.headers);
    const onDown = (origins: readonly string[]): void => void this.told.push(origins);
    const { clock } = this;
    this.asker = new Asker({ settings, clock, log: this.#log(), hookDeadlineMs, onDown });
  }

  ask(): Promise<HttpReply | NoAnswer> {
    const subject = { clientId: 'c', username: 'u', address: '127.0.0.1' };
    const question = this.#endpoint.questionOf(subject) ?? assert.fail();
    return this.asker.ask(this.#endpoint, question, this.asker.deadline());
  }

  async status(): Promise<number | NoAnswer> {
    const said = await this.ask();
    return typeof said === 'string' ? said : said.status;
  }

  [Symbol.dispose](): void {
    this.asker.close();
  }

  #log(): Logger {
    const line = (event: string, fields?: unknown): void =>
      void this.lines.push(`${event} ${JSON.stringify(fields)}`);
    const log = { trace: line, debug: line, info: line, warn: line, error: line };
    return { ...log, isOn: () => true, child: () => this.#log() } as unknown as Logger;
  }
}

/** The answers one after another; the last one for all that follow. */
function inTurn(...answers: readonly Answer[]): Answer {
  let turn = 0;
  return (response, asked) =>
    (answers[Math.min(turn++, answers.length - 1)] ?? assert.fail())(response, asked);
}

test('an asker uses its connections again', async () => {
  await using server = await AuthServer.start();
  using trial = new Trial(server.url());
  for (let i = 0; i < 5; i++) assert.equal(await trial.status(), 200);
  assert.equal(server.connections, 1);
});

test('an asker asks all at once that there is room for, and none twice', async () => {
  const held: (() => void)[] = [];
  await using server = await AuthServer.start((response) => held.push(() => response.end()));
  using trial = new Trial(server.url(), { poolSize: 3 });
  const asked = Array.from({ length: 10 }, () => trial.status());
  await server.untilAsked(3);
  for (let i = 0; i < 10; i++) {
    await server.untilAsked(i + 1);
    held[i]?.();
  }
  assert.deepEqual(
    await Promise.all(asked),
    Array.from({ length: 10 }, () => 200),
  );
  assert.deepEqual([server.underWayMost, server.asked.length, server.connections], [3, 10, 3]);
});

test('an asker refuses at once when too many wait', async () => {
  const held: (() => void)[] = [];
  await using server = await AuthServer.start((response) => held.push(() => response.end()));
  using trial = new Trial(server.url(), { poolSize: 1, pendingMax: 2 });
  const first = trial.status();
  const second = trial.status();
  assert.equal(await trial.status(), 'busy');
  await server.untilAsked(1);
  held[0]?.();
  assert.equal(await first, 200);
  await server.untilAsked(2);
  held[1]?.();
  assert.equal(await second, 200);
  assert.equal(trial.asker.pending, 0);
});

const endless = ['silence', 'headers that do not end', 'a body that does not end'];

for (const [name, fault] of Object.entries(faults)) {
  test(`an asker has no answer from a server with ${name}`, async () => {
    await using server = await AuthServer.start(fault);
    using trial = new Trial(server.url());
    const said = trial.status();
    await server.untilAsked(1);
    if (endless.includes(name)) trial.clock.advance(5000);
    assert.equal(await said, 'unreachable');
    server.answer = say(200);
    assert.equal(await trial.status(), 200);
    assert.equal(trial.clock.timerCount, 0);
  });
}

test('an asker has no answer where nobody listens, or nobody accepts', async () => {
  const server = await AuthServer.start();
  using trial = new Trial(server.url());
  await server[Symbol.asyncDispose]();
  assert.equal(await trial.status(), 'unreachable');
  // Reserved for documentation: no network leads there, or it says so at once.
  using lost = new Trial('http://192.0.2.1/');
  const said = lost.status();
  await lost.clock.untilTimer(3000);
  lost.clock.advance(3000);
  assert.equal(await said, 'unreachable');
  assert.equal(lost.clock.timerCount, 0);
});

test('an asker takes a status other than 200 for an answer, however the rest fares', async () => {
  const answers: Answer[] = [
    say(500, 'x'.repeat(1_000_000)),
    (response) => {
      response.writeHead(403, { 'content-length': '100' });
      response.write('half', () => response.socket?.resetAndDestroy());
    },
    say(302, '', { location: 'http://127.0.0.1:1/elsewhere' }),
    say(204),
  ];
  await using server = await AuthServer.start(inTurn(...answers));
  using trial = new Trial(server.url(), { retryTimes: 3 });
  const said: unknown[] = [];
  for (const _ of answers) said.push(await trial.status());
  assert.deepEqual(said, [500, 403, 302, 204]);
  assert.equal(server.asked.length, 4);
});

test('an asker repeats what had no answer, with longer and longer pauses', async () => {
  await using server = await AuthServer.start(inTurn(faults.reset, faults.garbage, say(200)));
  using trial = new Trial(server.url(), { retryTimes: 3 });
  const said = trial.status();
  await trial.clock.untilTimer(1000);
  trial.clock.advance(1000);
  await trial.clock.untilTimer(2000);
  assert.equal(server.asked.length, 2);
  trial.clock.advance(2000);
  assert.equal(await said, 200);
});

test('an asker repeats only as often as it may, and never past the deadline of hooks', async () => {
  await using server = await AuthServer.start(faults.reset);
  using trial = new Trial(server.url(), { retryTimes: 1 });
  const said = trial.status();
  await trial.clock.untilTimer(1000);
  trial.clock.advance(1000);
  assert.equal(await said, 'unreachable');
  assert.equal(server.asked.length, 2);
  using hurried = new Trial(server.url(), { retryTimes: 3 }, 1000);
  assert.equal(await hurried.status(), 'unreachable');
  assert.equal(server.asked.length, 3);
});

test('an asker without a timeout still answers before the broker gives up', async () => {
  await using server = await AuthServer.start(faults.silence);
  using trial = new Trial(server.url(), { timeoutMs: 0, connectTimeoutMs: 0 }, 2000);
  const said = trial.status();
  await server.untilAsked(1);
  trial.clock.advance(1800);
  assert.equal(await said, 'unreachable');
});

test('an asker waits for its turn no longer than the broker waits', async () => {
  await using server = await AuthServer.start(faults.silence);
  using trial = new Trial(server.url(), { poolSize: 1, timeoutMs: 0 }, 2000);
  const [first, second] = [trial.status(), trial.status()];
  await server.untilAsked(1);
  trial.clock.advance(1800);
  assert.deepEqual([await first, await second], ['unreachable', 'unreachable']);
  assert.equal(server.asked.length, 1);
});

for (const end of ['close', 'reset'] as const) {
  test(`an asker asks again at once when a kept connection ends by ${end}`, async () => {
    await using server = await AuthServer.start((response, asked) =>
      asked.turn === 1 ? response.end() : faults[end](response, asked),
    );
    using trial = new Trial(server.url(), { breakerFailures: 1 });
    // Two idle connections, both of which the server is about to close.
    assert.deepEqual(await Promise.all([trial.status(), trial.status()]), [200, 200]);
    assert.equal(await trial.status(), 200);
    assert.deepEqual([server.connections, trial.told], [3, []]);
  });
}

test('an asker gives a server up that does not answer, and tries it again later', async () => {
  await using server = await AuthServer.start(faults.reset);
  using trial = new Trial(server.url(), { breakerFailures: 3 });
  const { origin } = new URL(server.url());
  for (let i = 0; i < 3; i++) assert.equal(await trial.status(), 'unreachable');
  assert.deepEqual(trial.told, [[origin]]);
  assert.equal(await trial.status(), 'unreachable');
  assert.equal(server.asked.length, 3);
  trial.clock.advance(700);
  assert.equal(await trial.status(), 'unreachable');
  assert.equal(server.asked.length, 4);
  server.answer = say(403);
  trial.clock.advance(700);
  assert.equal(await trial.status(), 403);
  assert.deepEqual(trial.told, [[origin], [origin], []]);
  assert.deepEqual(
    trial.lines.filter((line) => !line.startsWith('auth_http.unanswered')),
    [
      `auth_http.down {"server":"${origin}","pauseMs":700}`,
      `auth_http.down {"server":"${origin}","pauseMs":700}`,
      `auth_http.up {"server":"${origin}"}`,
    ],
  );
});

test('an asker lets go of those that wait for a server that it has given up', async () => {
  await using server = await AuthServer.start(faults.reset);
  using trial = new Trial(server.url(), { breakerFailures: 2, poolSize: 2 });
  const said = await Promise.all(Array.from({ length: 20 }, () => trial.status()));
  assert.deepEqual([...new Set(said)], ['unreachable']);
  assert.ok(server.asked.length <= 3, `${server.asked.length}`);
  assert.equal(trial.clock.timerCount, 0);
});

test('an asker that is closed leaves nothing behind', async () => {
  await using server = await AuthServer.start(faults.silence);
  using trial = new Trial(server.url(), { poolSize: 2, retryTimes: 1, breakerFailures: 1 });
  const said = [trial.status(), trial.status(), trial.status()];
  await server.untilAsked(2);
  trial.asker.close();
  assert.deepEqual(
    await Promise.all(said),
    Array.from({ length: 3 }, () => 'unreachable'),
  );
  await server.until(() => server.underWay === 0 || undefined);
  assert.deepEqual([trial.clock.timerCount, trial.asker.pending], [0, 0]);
  assert.equal(await trial.status(), 'unreachable');
  assert.deepEqual([server.asked.length, trial.told], [2, []]);
});

test('an asker that is closed does not finish a pause', async () => {
  await using server = await AuthServer.start(faults.reset);
  using trial = new Trial(server.url(), { retryTimes: 1 });
  const said = trial.status();
  await trial.clock.untilTimer(1000);
  trial.asker.close();
  assert.equal(await said, 'unreachable');
  assert.equal(trial.clock.timerCount, 0);
});

test('an asker shows its certificate, and talks to nobody whose certificate it does not know', async () => {
  using dir = temporaryDir();
  const client = makePair(dir.path, 'client');
  const pair = makePair(dir.path, 'server');
  await using server = await AuthServer.start(say(200), pair);
  const url = server.url('/', 'https');
  using known = new Trial(url, { tls: { caFile: pair.certFile, ...client } });
  assert.deepEqual([await known.status(), await known.status()], [200, 200]);
  assert.equal(server.connections, 1);
  using strangers = new Trial(url, { tls: { ...noTls, ...client } });
  assert.equal(await strangers.status(), 'unreachable');
  using nameless = new Trial(url, { tls: { ...noTls, caFile: pair.certFile } });
  assert.equal(await nameless.status(), 'unreachable');
  using other = new Trial(url.replace('127.0.0.1', 'localhost'), {
    tls: { caFile: pair.certFile, ...client },
  });
  assert.equal(await other.status(), 'unreachable');
  assert.equal(server.asked.length, 2);
});

test('an asker does not take a server without TLS for one with it', async () => {
  await using server = await AuthServer.start();
  using trial = new Trial(server.url('/', 'https'));
  assert.equal(await trial.status(), 'unreachable');
  assert.equal(server.asked.length, 0);
});
