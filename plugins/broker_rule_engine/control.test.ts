// How often the control part looks whether resources are alive, and what it tells of it, by a clock of its own.

import assert from 'node:assert/strict';
import test from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { ControlContext, RecordStore } from '#sdk';
import { WatchedClock } from '#test/watched-clock';
import type { RuleEngineSettings } from './config.ts';
import part from './control.ts';

/** What the part is given: one resource that is kept, and no thread behind it. */
class Stage {
  readonly clock = new WatchedClock();
  readonly told: string[] = [];
  isAlive = true;
  looks = 0;

  get context(): ControlContext<RuleEngineSettings> {
    const every = (ms: number, call: () => unknown): (() => void) => {
      const timer = this.clock.setTimer(ms, () => {
        void Promise.resolve(call()).then(() => every(ms, call));
      });
      return () => timer.cancel();
    };
    const calls: Readonly<Record<string, () => unknown>> = {
      aliveResources: () => {
        this.looks++;
        return [['web_hook:a', this.isAlive]];
      },
    };
    return {
      settings: { isSysIgnored: true, isLinkLocalDenied: true, previewFilters: [] },
      ...{ nodeName: 'n', dataDir: '', clock: this.clock, every },
      log: { error: () => undefined, warn: () => undefined },
      ...{ defer: () => () => undefined, answers: () => undefined },
      gauge: () => undefined,
      flushed: () => Promise.resolve(),
      share: () => Promise.resolve(),
      records: (kind: string) => storeOf(kind === 'resources' ? [kept] : []),
      integration: {
        uphold: () => Promise.resolve(),
        call: (name: string) => Promise.resolve(calls[name]?.()),
      },
      alarms: {
        raise: (name: string) => void this.told.push(`raise ${name}`),
        clear: (name: string) => void this.told.push(`clear ${name}`),
      },
    } as unknown as ControlContext<RuleEngineSettings>;
  }

  /** So long, with everything that comes of it. */
  async wait(ms: number): Promise<void> {
    this.clock.advance(ms);
    for (let i = 0; i < 10; i++) await turn();
  }
}

const kept = {
  ...{ id: 'web_hook:a', name: 'a', type: 'web_hook', order: 1, description: '' },
  config: { url: 'http://127.0.0.1:1', headers: {} },
};

function storeOf(records: readonly { readonly id: string }[]): RecordStore {
  const entries = (): IterableIterator<readonly [string, unknown]> =>
    records.map((record) => [record.id, record] as const).values();
  return { entries } as unknown as RecordStore;
}

test('resources are looked at every 10 seconds; what was there and is gone is an alarm', async () => {
  const stage = new Stage();
  await part(stage.context);
  await stage.wait(9_999);
  assert.equal(stage.looks, 0);
  await stage.wait(1);
  assert.deepEqual([stage.looks, stage.told], [1, ['clear resource_down/web_hook:a']]);
  stage.isAlive = false;
  await stage.wait(9_999);
  assert.equal(stage.looks, 1);
  await stage.wait(1);
  assert.deepEqual([stage.looks, stage.told.at(-1)], [2, 'raise resource_down/web_hook:a']);
  await stage.wait(10_000);
  assert.deepEqual([stage.looks, stage.told.length], [3, 2]);
  stage.isAlive = true;
  await stage.wait(10_000);
  assert.deepEqual([stage.looks, stage.told.at(-1)], [4, 'clear resource_down/web_hook:a']);
});
