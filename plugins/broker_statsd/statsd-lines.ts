// Figures in the words of StatsD: what has been counted since the last time (`|c`), and levels (`|g`), packed
// into as few datagrams as hold them. Law: a datagram fits into a frame of Ethernet, so that none of it is
// lost in pieces, and a line is never divided.

type Values = Readonly<Record<string, number>>;

/** What is left of 1500 bytes by IPv6, UDP and the tunnels in between. */
export const datagramBytesMax = 1432;
/** One that goes up and down among those that count. */
const levels: ReadonlySet<string> = new Set(['messages/retained']);

export class StatsdLines {
  readonly #prefix: string;
  #former: Values;

  /** `metrics`: what has been counted so far, and is not told. */
  constructor(prefix: string, metrics: Values) {
    this.#prefix = prefix;
    this.#former = metrics;
  }

  /** Since the last time. What cannot be sent is told again when `sent` was not called. */
  lines(metrics: Values, stats: Values): string[] {
    const counted = Object.entries(metrics).flatMap(([key, value]) => {
      if (levels.has(key)) return [this.#line(key, value, 'g')];
      const former = this.#former[key] ?? 0;
      // A worker that died counts from the beginning.
      const more = value < former ? value : value - former;
      return more > 0 ? [this.#line(key, more, 'c')] : [];
    });
    return [
      ...counted,
      ...Object.entries(stats).map(([key, value]) => this.#line(key, value, 'g')),
    ];
  }

  sent(metrics: Values): void {
    this.#former = metrics;
  }

  #line(key: string, value: number, kind: 'c' | 'g'): string {
    const name = key.replaceAll('/', '.').replaceAll(/[^\w.-]/g, '_');
    return `${this.#prefix}.${name}:${value}|${kind}`;
  }
}

export function datagramsOf(lines: readonly string[]): Buffer[] {
  const datagrams: string[] = [];
  let packed = '';
  for (const line of lines) {
    if (packed !== '' && packed.length + 1 + line.length > datagramBytesMax) {
      datagrams.push(packed);
      packed = '';
    }
    packed = packed === '' ? line : `${packed}\n${line}`;
  }
  if (packed !== '') datagrams.push(packed);
  return datagrams.map((text) => Buffer.from(text));
}
