// How a worker is told to die, and in which ways it can.

export const deathChannel = 'death';

/**
 * throw: an error that nobody catches. exit: its thread ends between two turns. publish: in the middle
 * of one, with a message half on its way. greeting: when it is told of another worker. memory: its heap
 * is full.
 */
export type Manner = 'throw' | 'exit' | 'publish' | 'greeting' | 'memory';

export interface DeathOrder {
  readonly worker: number;
  readonly manner: Manner;
}
