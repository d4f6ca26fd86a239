// An event as rules see it: columns by name, and the payload as JSON for those that look into it. Law: the
// payload is parsed at most once, and only when some rule asks, however many look at the event.

export interface EventRecord {
  /** `message.publish` */
  readonly event: string;
  /** Undefined: there is no such column, or it has no value. */
  get(column: string): unknown;
  /** All columns that have a value, for `*`; made anew for whoever asks. */
  columns(): Record<string, unknown>;
  /** The payload as JSON; undefined where it is none. Nobody may change it. */
  json(): unknown;
}
