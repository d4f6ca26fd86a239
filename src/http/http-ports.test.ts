import assert from 'node:assert/strict';
import test from 'node:test';
import { systemClock } from '#base/clock';
import { nullLogger } from '#base/log';
import { loadSettings } from '#config/load';
import { HttpPorts } from './http-ports.ts';

function doorsWith(...sets: string[]): HttpPorts {
  const settings = loadSettings({ sets });
  return new HttpPorts({ settings, clock: systemClock, log: nullLogger });
}

async function answerOf(doors: HttpPorts, path: string): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${doors.ports[0]?.port}${path}`);
  return `${response.status} ${await response.text()}`;
}

test('until management is there, doors say that it is not', async () => {
  await using doors = doorsWith('management.listener.http=127.0.0.1:0');
  await doors.open('management');
  assert.equal(
    await answerOf(doors, '/api/v3/nodes'),
    '503 {"code":503,"message":"Service Unavailable"}',
  );
  assert.equal(await answerOf(doors, '/readyz'), '503 not ready');
  assert.equal(await answerOf(doors, '/livez'), '200 ok');
  assert.equal(
    await answerOf(doors, '/status'),
    '503 Node broker@127.0.0.1 is started\nbroker is not_running',
  );
});

test('doors serve what they are given, and no longer than they are told', async () => {
  await using doors = doorsWith('management.listener.http=127.0.0.1:0');
  await doors.open('management');
  doors.serve(
    (owner, _request, response) => void response.end(owner),
    async () => true,
  );
  assert.equal(await answerOf(doors, '/x'), '200 management');
  assert.equal(await answerOf(doors, '/readyz'), '200 ok');
  doors.serve(undefined);
  assert.match(await answerOf(doors, '/x'), /^503 /);
  assert.match(await answerOf(doors, '/readyz'), /^503 /);
});

test('a probe that cannot be answered is not ready', async () => {
  await using doors = doorsWith('management.listener.http=127.0.0.1:0');
  await doors.open('management');
  doors.serve(
    () => undefined,
    () => Promise.reject(new Error('no worker')),
  );
  assert.equal(await answerOf(doors, '/readyz'), '503 not ready');
});

test('doors open and close by owner, and report what is open', async () => {
  await using doors = doorsWith(
    'management.listener.http=127.0.0.1:0',
    'dashboard.listener.http=0',
    'dashboard.listener.http.acceptors=3',
    'dashboard.listener.http.max_clients=7',
  );
  await doors.open('management');
  await doors.open('dashboard', { shutIn: true });
  assert.ok(doors.isOpen('dashboard'));
  const dashboard = doors.ports[1];
  assert.match(String(dashboard?.listensOn), /^127\.0\.0\.1:\d+$/);
  assert.deepEqual(doors.reports()[1], {
    protocol: 'http:dashboard',
    listenOn: dashboard?.listensOn,
    acceptors: 3,
    maxConns: 7,
    currentConns: 0,
    shutdownCount: new Map(),
  });
  await doors.close('dashboard');
  assert.ok(!doors.isOpen('dashboard') && doors.isOpen('management'));
  await doors.open('dashboard');
  assert.match(String(doors.ports[1]?.listensOn), /^\*:\d+$/);
});

test('a port in use stops the start, names the key and says what to do', async () => {
  await using first = doorsWith('management.listener.http=127.0.0.1:0');
  await first.open('management');
  const taken = `127.0.0.1:${first.ports[0]?.port}`;
  await using second = doorsWith(`management.listener.http=${taken}`);
  await assert.rejects(second.open('management'), {
    message:
      `Cannot listen on "${taken}" for management.listener.http: it is in use, stop what uses it, ` +
      'choose another with --set management.listener.http=127.0.0.1:<port>, or off',
  });
});
