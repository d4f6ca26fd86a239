// System topics in a worker: publishing and keeping them, presence of its clients, and watching its
// thread.

import type { QoS } from '#wire/packet';
import type { Broker } from '#core/broker';
import { tellPresence } from '#observe/presence';
import { publishSystem, retainSystem, type SystemEntry } from '#observe/system-publisher';
import { type SysmonReport, type ThreadLimits, ThreadWatch } from '#observe/thread-watch';

export type SysVerbs = {
  /** To all subscribers, in whichever worker: ask one worker. */
  publishSystem: (entries: readonly SystemEntry[]) => void;
  /** For those who subscribe later, in this worker: uphold it. */
  retainSystem: (entries: readonly SystemEntry[]) => void;
  /** Undefined: presence is off. */
  presence: (qos: QoS | undefined) => void;
  /** What happens is reported as `sysmon`. Undefined: no longer. */
  watchThread: (limits: ThreadLimits | undefined) => void;
};

/** What these verbs need of the worker that they run in. */
export interface SysPlace {
  readonly broker: Broker;
  readonly report: (name: 'sysmon', report: SysmonReport) => void;
}

export function sysVerbs({ broker, report }: SysPlace): SysVerbs {
  const { core } = broker;
  let watch: ThreadWatch | undefined;
  const busyClients = (): string[] => {
    const full = broker.channels().filter(({ outbox }) => outbox.isFull);
    return Array.from(full, ({ publisher }) => publisher.clientId);
  };
  return {
    publishSystem(entries) {
      for (const entry of entries) publishSystem(core, entry);
    },
    retainSystem(entries) {
      for (const entry of entries) retainSystem(core, entry);
    },
    presence: (qos) => tellPresence(core, qos),
    watchThread(limits) {
      const { clock, flusher } = core;
      watch?.[Symbol.dispose]();
      watch = undefined;
      flusher.pressure.onCongested = () => watch?.onCongested();
      if (limits === undefined) return;
      watch = new ThreadWatch({
        clock,
        limits,
        busyClients,
        report: (said) => report('sysmon', said),
      });
    },
  };
}
