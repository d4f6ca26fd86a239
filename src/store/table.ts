// The tables of a store, by number, and what may be a key in them.

/** The numbers are on disk: never change one, never use one again. */
export const Table = {
  meta: 0,
  sessions: 1,
  subscriptions: 2,
  queue: 3,
  /** Messages that several sessions hold, and how many do. */
  bodies: 4,
  references: 5,
  taken: 6,
  retained: 7,
  /** Retained messages whose topic is too long to be a key. */
  retainedLong: 8,
  wills: 9,
  records: 10,
  /** Sessions that are over and whose rest has not been cleared away yet. */
  ended: 11,
  /** Who has been given which QoS 2 message of another worker, until its publisher is told. */
  passages: 12,
} as const;
export type Table = (typeof Table)[keyof typeof Table];

/** Keys may have so many bytes; longer ones are the caller's to shorten. */
export const keyBytesMax = 1900;
