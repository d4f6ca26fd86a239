// Parts of the broker that are plugins by name: their code lies with the broker, and they are switched on
// and off like the others.

import type { AnyOperation } from '#admin/operation';

export interface BuiltIn {
  readonly name: string;
  readonly description: string;
  /** Why it cannot run as the broker is configured; it is passed over at a start then. */
  readonly obstacle?: () => string | undefined;
  /** Undefined: it always runs. */
  readonly start?: () => Promise<void>;
  /** Also called where it is not to run from the start: a part of the broker would without a word. */
  readonly stop?: () => Promise<void>;
  /** Asked at the start and after each `start`; undefined: whatever was started runs. */
  readonly isActive?: () => boolean;
  /** Added while it runs, once management is served: what they need takes long to load. */
  readonly operations?: () => Promise<readonly AnyOperation[]>;
}
