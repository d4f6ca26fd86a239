// What management keeps while the node runs, besides operations: lists that must outlive the process or
// hold in every worker, and what works by the clock. Built before anybody is let in, started after.

import type { Clock } from '#base/clock';
import type { RootLogger } from '#base/log';
import type { Settings } from '#config/settings';
import type { Alarms } from '#core/alarms';
import type { NodeRecords, WorkersFace } from '#node/node-face';
import { Acl } from './acl.ts';
import { Apps } from './apps.ts';
import { Bans } from './bans.ts';
import { FailedTries } from './failed-tries.ts';
import { Flapping } from './flapping.ts';
import { ensureFirstApp, type FirstApp } from './first-app.ts';
import { Observation, type ObservedNode } from './observation.ts';
import { Traces } from './traces.ts';
import { Users } from './users.ts';

/** What there is before the listeners are open. */
export interface EarlyParts {
  readonly workers: WorkersFace;
  readonly records: NodeRecords;
  readonly alarms: Alarms;
  readonly settings: Settings;
  readonly clock: Clock;
  readonly log: RootLogger;
}

export interface Services extends AsyncDisposable {
  readonly acl: Acl;
  readonly apps: Apps;
  readonly bans: Bans;
  readonly users: Users;
  readonly traces: Traces;
  /** It has just been made, at the first start. */
  readonly firstApp: FirstApp | undefined;
  /** The node serves: what works by the clock begins. */
  start(observed: ObservedNode): void;
}

export async function openServices(parts: EarlyParts): Promise<Services> {
  const { records, settings, clock } = parts;
  const acl = new Acl(parts);
  await acl.start();
  const tries = new FailedTries(clock);
  const { defaultSecret } = settings.management;
  const apps = new Apps({ records, clock, tries, defaultSecret });
  const users = new Users({ records, tries, settings: settings.dashboard });
  await users.ensureDefault();
  const firstApp = await ensureFirstApp(apps, records, settings);
  const bans = new Bans(parts);
  await bans.start();
  const flapping = new Flapping({ ...parts, bans });
  await flapping.start();
  const traces = new Traces({ ...parts, settings: settings.log });
  const observation = new Observation(parts);
  await observation.prepare();
  return {
    start: (observed) => observation.start(observed),
    acl,
    traces,
    apps,
    bans,
    users,
    firstApp,
    async [Symbol.asyncDispose]() {
      await observation[Symbol.asyncDispose]();
      flapping[Symbol.dispose]();
      bans[Symbol.dispose]();
      await traces[Symbol.asyncDispose]();
    },
  };
}
