// One line of a trace: `time [level] event key=value …`. Law: whatever a client sent is quoted, cut and
// escaped, so that no client id, topic or payload can forge a line or speak to a terminal; a payload
// is shown at level debug only, and only its beginning.

/** From the most to the least talkative, with what each adds to those behind it. */
export const traceLevels = {
  /** The same as debug. */
  all: 0,
  /** The beginning of payloads. */
  debug: 0,
  /** Each step of each message. */
  info: 1,
  /** Connections, sessions, subscriptions. */
  notice: 2,
  /** What was refused, denied or dropped. */
  warning: 3,
  /** What the store could not take. */
  error: 4,
} as const;
export type TraceLevel = keyof typeof traceLevels;
/** Of a line. */
export type LineLevel = Exclude<TraceLevel, 'all' | 'debug'>;

/** What a trace follows. */
export interface TraceSpec {
  /** Of its file. */
  readonly name: string;
  readonly by: 'client' | 'topic';
  /** The client id, or the topic filter. */
  readonly of: string;
  readonly level: TraceLevel;
}

/** A line on its way from a worker to the files. */
export interface TraceLine {
  /** Names of the traces that it is for. */
  readonly traces: readonly string[];
  readonly text: string;
  /** For those of them that are at level debug. */
  readonly payload: string | undefined;
}

export type TraceFields = Readonly<Record<string, string | number | boolean | undefined>>;

/** Longest value of a field: a topic may have 65535 bytes. */
const valueCharsMax = 1024;
const payloadBytesMax = 100;

export function traceText(
  timeMs: number,
  level: LineLevel,
  event: string,
  fields: TraceFields,
): string {
  const time = new Date(timeMs).toISOString();
  return `${time} [${level}] ${event}${traceFields(fields)}`;
}

/** ` key=value` for each. */
export function traceFields(fields: TraceFields): string {
  let text = '';
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined) text += ` ${name}=${quoted(String(value))}`;
  }
  return text;
}

/** Words of letters, digits and what topics are made of need no quotes. */
function quoted(value: string): string {
  const cut = value.length > valueCharsMax ? `${value.slice(0, valueCharsMax)}…` : value;
  if (/^[\w.:/#+$@~,-]+$/.test(cut)) return cut;
  return JSON.stringify(cut).replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, escaped);
}

function escaped(char: string): string {
  return `\\u${(char.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`;
}

/** The beginning of a payload, every byte that is not a printable ASCII character escaped. */
export function shownPayload(payload: Buffer): string {
  let text = '';
  for (const byte of payload.subarray(0, payloadBytesMax)) {
    const isPlain = byte >= 0x20 && byte < 0x7f && byte !== 0x22 && byte !== 0x5c;
    text += isPlain ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, '0')}`;
  }
  return `"${text}"${payload.length > payloadBytesMax ? '…' : ''}`;
}
