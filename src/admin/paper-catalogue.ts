// The catalogue without a node: what derives from operations (documentation, the help of the command
// line) is made from this. Law: building operations asks nothing of the node; whoever does so here is
// told by an error.

import { systemClock } from '#base/clock';
import { openLog } from '#base/log';
import { ownKeys } from '#config/key-table';
import { loadConfig } from '#config/load';
import { Catalogue } from './catalogue.ts';
import { allOperations } from './operations.ts';
import { retainedOperations } from './operations/retained.ts';
import type { AdminParts } from './parts.ts';

/** All operations that the broker itself brings, with what holds without any configuration. */
export function paperCatalogue(): Catalogue {
  const { settings, effective } = loadConfig({});
  const catalogue = new Catalogue();
  const parts: AdminParts = {
    node: paper<AdminParts['node']>('node'),
    services: paper<AdminParts['services']>('services'),
    httpListeners: paper<AdminParts['httpListeners']>('httpListeners'),
    plugins: paper<AdminParts['plugins']>('plugins'),
    keys: ownKeys,
    settings,
    effective,
    configFile: 'etc/broker.conf',
    clock: systemClock,
    log: openLog({ ...settings.log, to: 'off' }),
    version: '0.0.0',
    startedAtMs: 0,
    upMs: () => 0,
    catalogue,
  };
  catalogue.add('broker_management', allOperations(parts));
  const { workers } = parts.node;
  catalogue.add('broker_retainer', retainedOperations({ workers, settings, count: () => 0 }));
  return catalogue;
}

/** Stands for something that is not there. Has every member, so that operations can be put together; calling one is an error. */
export function paper<T extends object>(name: string): T {
  const called = (): never => {
    throw new TypeError(`Cannot call ${name}(): the catalogue on paper has no node behind it`);
  };
  return new Proxy(called, {
    get: (_, member) => {
      // Not a promise, and not something that turns into text.
      const isPlain = typeof member === 'symbol' || member === 'then';
      return isPlain ? undefined : paper(`${name}.${member}`);
    },
  }) as unknown as T;
}
