// Where the parts of the store write: all into one batch, so that what is told in one turn is flushed
// together. A part that shows its writes before they are flushed asks to be told how that went.

import type { Batch } from './batch.ts';
import type { Engine } from './engine.ts';

export interface Journal {
  readonly engine: Engine;
  /** Other threads write to the same tables: what was read may be different by now. */
  readonly isShared: boolean;
  /** The batch that gathers writes; ask for it each time. */
  readonly open: Batch;
  /** Called once, when the batch that is open now is flushed (true) or has failed (false). */
  onSettled(call: (isFlushed: boolean) => void): void;
}
