// Laws the program itself must keep. A broken one is a defect of ours, never of a client: it is not
// caught below main.ts, and ends the connection or the process.

/** `law` states what must hold, so that the message reads as the law that was broken. */
export function invariant(holds: boolean, law: string): asserts holds {
  if (!holds) throw new TypeError(`Invariant broken: ${law}`);
}

/** The end of an exhaustive switch: adding a member to the union breaks the compilation here. */
export function unreachable(value: never): never {
  throw new TypeError(`Invariant broken: no case for "${String(value)}"`);
}
