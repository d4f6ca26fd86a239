import assert from 'node:assert/strict';
import test from 'node:test';
import { nullLogger } from '#base/log';
import type { Value } from '../eval/value.ts';
import type { ResourceJob } from '../resources/job.ts';
import type { WebJob } from '../resources/web-hook-job.ts';
import type { ActionEnv, ActionEvent } from './action.ts';
import { actionNamed } from './action-table.ts';
import { checkParams } from './param-spec.ts';

const event = {
  hops: 0,
  get: (name: string) => ({ event: 'client.connected', client_id: 'c1' })[name],
} as unknown as ActionEvent;

/** What the web server is to be told. */
async function jobOf(
  name: string,
  params: Readonly<Record<string, unknown>>,
  selected: Value,
): Promise<WebJob> {
  const jobs: ResourceJob[] = [];
  const env: ActionEnv = {
    ...{ ruleId: 'rule:1', actionId: 'a1', log: nullLogger, nowMs: () => 0 },
    publish: () => Promise.reject(new Error('not here')),
    perform: (job) => Promise.resolve(void jobs.push(job)),
    onSight: () => undefined,
    sights: { admits: () => true },
  };
  const definition = actionNamed(name);
  assert.ok(definition);
  const checked = checkParams(definition.params, { $resource: 'r', ...params }, 'action');
  await definition.create(checked, env)(selected, event);
  const [job] = jobs;
  assert.deepEqual([job?.resource, job?.action, jobs.length], ['r', 'a1', 1]);
  return job?.job as WebJob;
}

const action = 'data_to_webserver';

test('the body is all that was selected, a text, or an object that is filled', async () => {
  const selected = { a: 1, b: { c: ['x', 'y'] }, big: 12345678901234567890n };
  const bodies: readonly (readonly [object, string])[] = [
    [{}, '{"a":1,"b":{"c":["x","y"]},"big":12345678901234567890}'],
    [{ payload_tmpl: 'a is ${a}, ${b.c[2]}' }, 'a is 1, y'],
    [
      { template: { n: '${a}', s: 'n=${a}', deep: [{ c: '${b.c}' }], none: '${no}', t: true } },
      '{"n":1,"s":"n=1","deep":[{"c":["x","y"]}],"none":null,"t":true}',
    ],
    [{ template: JSON.parse('{"__proto__":"${a}"}') as object }, '{"__proto__":1}'],
  ];
  for (const [params, wanted] of bodies) {
    assert.equal((await jobOf(action, params as never, selected)).body, wanted);
    assert.equal((await jobOf('web_hook:publish_action', params as never, selected)).body, wanted);
  }
  const bytes = Buffer.from([0xff, 0]);
  assert.deepEqual((await jobOf(action, { payload_tmpl: '${p}' }, { p: bytes })).body, bytes);
});

test('values in a path are encoded, and none leads out of it', async () => {
  const path = '/d/${id}/x?q=${q}';
  const job = await jobOf(action, { path }, { id: 'a/b ?#', q: 'ü&x=1' });
  assert.equal(job.path, '/d/a%2Fb%20%3F%23/x?q=%C3%BC%26x%3D1');
  for (const id of ['..', '.']) {
    await assert.rejects(jobOf(action, { path }, { id, q: '' }), /would lead out of it/);
  }
  await assert.rejects(jobOf(action, { path }, { id: 'a' }), /\$\{q\} has no value/);
  const lone = await jobOf(action, { path: '${id}' }, { id: '\ud800' });
  assert.equal(lone.path, '%EF%BF%BD');
});

test('headers have placeholders in their values', async () => {
  const { headers } = await jobOf(action, { headers: { 'X-Client': 'c ${id}' } }, { id: 7 });
  assert.deepEqual(headers, { 'X-Client': 'c 7' });
});

test('the older action for events tells who it is about where it has no template', async () => {
  const { body } = await jobOf('web_hook:event_action', {}, { x: 1 });
  assert.equal(body, '{"event":"client.connected","client_id":"c1","username":null}');
  const template = { room: { number: '${x}' } };
  assert.equal(
    (await jobOf('web_hook:event_action', { template }, { x: 1 })).body,
    '{"room":{"number":1}}',
  );
});

test('more than may be under way fails at once', async () => {
  const definition = actionNamed(action);
  assert.ok(definition);
  const params = checkParams(definition.params, { $resource: 'r' }, 'action');
  const done = Promise.withResolvers<void>();
  const env = { actionId: 'a1', perform: () => done.promise } as unknown as ActionEnv;
  const run = definition.create(params, env);
  const running = Array.from({ length: 10_000 }, () => run({}, event));
  await assert.rejects(Promise.resolve(run({}, event)), /10000 events are on their way already/);
  done.resolve();
  await Promise.all(running.map((one) => Promise.resolve(one)));
  await run({}, event);
});
