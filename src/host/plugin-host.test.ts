// The host with parts of the broker that are plugins by name; those in folders are tested in whole nodes,
// in test/plugins/.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { VirtualClock } from '#base/clock';
import { createLog } from '#base/log';
import { KeyTable } from '#config/key-table';
import { loadSettings } from '#config/load';
import { Catalogue } from '#admin/catalogue';
import { OperatingError } from '#admin/failures';
import { define } from '#admin/operation';
import { noParams } from '#admin/paging';
import type { PluginConfigs } from '#admin/plugins-face';
import type { BuiltIn } from './built-in.ts';
import type { HostParts } from './host-parts.ts';
import { PluginHost } from './plugin-host.ts';

class Part implements BuiltIn {
  readonly name: string = 'part';
  readonly description: string = 'A part';
  readonly done: string[] = [];
  fault: string | undefined;
  obstacle = (): string | undefined => undefined;
  start = async (): Promise<void> => {
    if (this.fault !== undefined) throw new Error(this.fault);
    this.done.push('start');
  };
  stop = async (): Promise<void> => void this.done.push('stop');
  operations = async () => [
    define({
      name: 'x',
      descr: '',
      tag: '',
      http: { method: 'GET', path: '/x' },
      params: noParams,
      run: () => 1,
    }),
  ];
}

interface Hosted {
  readonly host: PluginHost;
  readonly catalogue: Catalogue;
  readonly alarms: string[];
  readonly file: string;
}

function hostOf(t: TestContext, builtIn: readonly BuiltIn[], listed?: string): Hosted {
  const dir = mkdtempSync(join(tmpdir(), 'broker-host-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  const file = join(dir, 'loaded_plugins');
  if (listed !== undefined) writeFileSync(file, listed);
  const settings = loadSettings({ sets: [`node.data_dir=${dir}`, 'plugins.loaded=always,part'] });
  const catalogue = new Catalogue();
  const alarms: string[] = [];
  const parts: Partial<HostParts> = {
    found: [],
    builtIn: [{ name: 'always', description: 'What always runs' }, ...builtIn],
    catalogue,
    keys: new KeyTable(),
    settings,
    clock: new VirtualClock(),
    log: createLog('emergency', []),
    version: '1.2.3',
    integration: { leave: async () => undefined } as unknown as HostParts['integration'],
    alarms: {
      raise: (name) => void alarms.push(`raise ${name}`),
      clear: (name) => void alarms.push(`clear ${name}`),
    },
    workers: {
      onQuestion: () => undefined,
      uphold: async () => [],
    } as unknown as HostParts['workers'],
  };
  return { host: new PluginHost(parts as HostParts), catalogue, alarms, file };
}

const failure = (code: number, message: RegExp) => (error: unknown) =>
  error instanceof OperatingError && error.code === code && message.test(error.message);

test('what the list names is started, and the list is written at the first start only', async (t) => {
  const first = new Part();
  const { host, file, catalogue } = hostOf(t, [first]);
  await host.start();
  assert.deepEqual([first.done, host.isActive('part')], [['start'], true]);
  assert.equal(readFileSync(file, 'utf8'), '{always, true}.\n{part, true}.\n');
  assert.equal(catalogue.all().length, 0, 'operations are loaded when clients are let in already');
  await host.serve();
  assert.equal(catalogue.all().length, 1);
  const second = new Part();
  const { host: again, file: listed } = hostOf(t, [second], '{always, true}.\n');
  await again.start();
  assert.deepEqual([second.done, again.isActive('part')], [['stop'], false]);
  assert.equal(readFileSync(listed, 'utf8'), '{always, true}.\n');
});

test('plugins are listed by name, each with what it is', async (t) => {
  const { host } = hostOf(t, [new Part()], 'part.');
  await host.start();
  assert.deepEqual(host.rows(), [
    {
      name: 'always',
      version: 'v1.2.3',
      description: 'What always runs',
      active: true,
      type: 'feature',
    },
    { name: 'part', version: 'v1.2.3', description: 'A part', active: true, type: 'feature' },
  ]);
});

test('a plugin that runs cannot be loaded, and one that does not cannot be unloaded', async (t) => {
  const part = new Part();
  const { host, catalogue, file } = hostOf(t, [part]);
  await host.start();
  await host.serve();
  assert.equal(catalogue.all().length, 1);
  await assert.rejects(host.load('part'), failure(102, /^already_started$/));
  await host.unload('part');
  assert.deepEqual([host.isActive('part'), catalogue.all().length], [false, 0]);
  assert.doesNotMatch(readFileSync(file, 'utf8'), /part/);
  await assert.rejects(host.unload('part'), failure(102, /^not_started$/));
  await host.load('part');
  assert.deepEqual(part.done, ['start', 'stop', 'start']);
  assert.match(readFileSync(file, 'utf8'), /\{part, true\}/);
});

test('what always runs cannot be unloaded', async (t) => {
  const { host } = hostOf(t, [], '');
  await host.start();
  await assert.rejects(host.unload('always'), failure(102, /^Plugin always can not be unloaded$/));
  await assert.rejects(host.load('always'), failure(102, /^already_started$/));
});

test('an unknown plugin is not found', async (t) => {
  const { host } = hostOf(t, [], '');
  for (const verb of ['load', 'unload', 'reload'] as const) {
    for (const name of ['broker_none', 'toString', '../broker_recon', '']) {
      await assert.rejects(
        host[verb](name),
        failure(404, /^Cannot find plugin ".*": there are always$/),
      );
    }
  }
});

test('a part that has something in its way is passed over at the start and says so to a load', async (t) => {
  const part = new Part();
  part.obstacle = () => 'Cannot start part: it has no listener';
  const { host, alarms } = hostOf(t, [part]);
  await host.start();
  assert.deepEqual([host.isActive('part'), alarms], [false, []]);
  await assert.rejects(host.load('part'), failure(102, /it has no listener/));
});

test('a part that cannot start stops the start, and is the answer to a load', async (t) => {
  const part = new Part();
  part.fault = 'the port is taken';
  await assert.rejects(hostOf(t, [part]).host.start(), /^Error: the port is taken$/);
  part.fault = undefined;
  const { host } = hostOf(t, [part]);
  await host.start();
  await host.unload('part');
  part.fault = 'the port is taken';
  await assert.rejects(host.load('part'), failure(102, /^Cannot start part: the port is taken$/));
  assert.equal(host.isActive('part'), false);
  part.fault = undefined;
  await host.load('part');
  assert.equal(host.isActive('part'), true);
});

test('changes are made one after the other', async (t) => {
  const part = new Part();
  const stopped = Promise.withResolvers<void>();
  part.stop = async () => {
    await stopped.promise;
    part.done.push('stop');
  };
  const { host } = hostOf(t, [part]);
  await host.start();
  const both = Promise.all([host.unload('part'), host.load('part')]);
  stopped.resolve();
  await both;
  assert.deepEqual(part.done, ['start', 'stop', 'start']);
});

test('a reload starts a part that does not run, and refuses values that need a restart', async (t) => {
  const part = new Part();
  const { host } = hostOf(t, [part]);
  await host.start();
  let changed: string[] = [];
  host.useConfigs({ changedKeys: () => changed } as unknown as PluginConfigs);
  await host.reload('part');
  assert.deepEqual(part.done, ['start']);
  await host.unload('part');
  await host.reload('part');
  assert.deepEqual(part.done, ['start', 'stop', 'start']);
  changed = ['part.size', 'part.color'];
  const refused = /^Cannot reload part: part\.size, part\.color changed, which needs a restart/;
  await assert.rejects(host.reload('part'), failure(102, refused));
  host.useConfigs({
    changedKeys: () => {
      throw new OperatingError('failed', 'broker.conf:1: nonsense');
    },
  } as unknown as PluginConfigs);
  await assert.rejects(
    host.reload('part'),
    failure(102, /^parse_config_file_failed: broker\.conf:1: nonsense$/),
  );
});
