// One bcrypt hash in a thread of its own, which ends with it: computing takes from a tenth of a second to
// two, and in a worker all of its clients would wait.

import { parentPort, workerData } from 'node:worker_threads';
import { hashSync } from 'bcryptjs';

export interface BcryptOrder {
  readonly password: string;
  /** `$2b$10$` and 22 characters. */
  readonly salt: string;
}

const { password, salt } = workerData as BcryptOrder;
parentPort?.postMessage(hashSync(password, salt));
