// What a worker thread is given when it starts: everything in it can be cloned, shared or moved. Its seat
// at the store follows as a message: threads load while the store is opened. In place of a seat comes
// null when there will be none.

import type { MessagePort } from 'node:worker_threads';
import type { Settings } from '#config/settings';

export interface WorkerData {
  readonly index: number;
  readonly workers: number;
  readonly settings: Settings;
  readonly counters: SharedArrayBuffer;
  readonly groups: SharedArrayBuffer;
  /** One for each listener, in the order of the settings. */
  readonly shares: readonly SharedArrayBuffer[];
  /** To the control thread. */
  readonly port: MessagePort;
}
