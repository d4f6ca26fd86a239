// Rounds of work and violent ends: the broker runs, clients work, at a drawn moment the process dies,
// and another one takes over its data. Every few rounds everything comes to rest and the books are
// judged. The first round that breaks a law is the last one, unless somebody wants to see more.

import { setTimeout as delay } from 'node:timers/promises';
import { Random } from '../fuzz/random.ts';
import { Books } from './books.ts';
import type { BrokerUnderTest } from './broker-under-test.ts';
import { Company } from './company.ts';
import type { Ending, Figures } from './figures.ts';
import { Patience } from './patience.ts';
import { RetainedReader } from './retained-reader.ts';
import type { Violations } from './violations.ts';

export interface CrashOptions {
  readonly rounds: number;
  readonly seed: number;
  readonly broker: BrokerUnderTest;
  /** Nothing at all has happened for so long: nothing will. */
  readonly quietMs?: number;
  /** Told of every packet and what happens to the process, in words. */
  readonly trace?: ((line: string) => void) | undefined;
  /** Enough laws are broken to stop; one, unless it says otherwise. */
  readonly isEnough?: (violations: Violations) => boolean;
  /** After each round. */
  readonly onRound?: (figures: Figures) => void;
}

export interface CrashResult {
  readonly figures: Figures;
  readonly violations: Violations;
  /** Undefined when every law was kept; otherwise what to print. */
  readonly failure: string | undefined;
}

const usualQuietMs = 5000;
const actEveryMs = 3;

export async function crashRun(options: CrashOptions): Promise<CrashResult> {
  const run = new CrashRun(options);
  try {
    await run.play();
  } finally {
    await run.end();
  }
  return run.result();
}

class CrashRun {
  readonly #options: CrashOptions;
  readonly #quietMs: number;
  readonly #broker: BrokerUnderTest;
  readonly #random: Random;
  readonly #books: Books = new Books();
  readonly #company: Company;
  readonly #patience: Patience;
  #reader: RetainedReader | undefined;
  #launchedAtMs: number | undefined;
  #isEnding = false;

  constructor(options: CrashOptions) {
    this.#options = options;
    this.#quietMs = options.quietMs ?? usualQuietMs;
    this.#patience = new Patience(this.#quietMs);
    this.#broker = options.broker;
    this.#random = new Random(options.seed);
    this.#company = new Company(this.#books, this.#random);
    const { violations } = this.#books;
    this.#books.wills.mayRepeat = options.broker.workers !== 1;
    this.#broker.onFault = (line) => violations.add('process', line.slice(0, 500));
    const changed = (): void => this.#patience.changed();
    this.#company.pair.onChange = changed;
    for (const client of this.#company.clients) {
      client.onChange = changed;
      client.trace = options.trace;
      client.onConnected = () => this.#connected();
      client.onLost = (words, hasCrossed) => {
        if (this.#isEnding) return;
        if (hasCrossed) {
          this.#books.figures.crossed++;
          return;
        }
        const told = `the broker ended the connection of "${client.spec.name}"`;
        violations.add('protocol', `${told} ${words === '' ? 'without a word' : `by ${words}`}`);
      };
    }
  }

  async play(): Promise<void> {
    const { figures, violations } = this.#books;
    const { rounds, isEnough = ({ total }) => total > 0 } = this.#options;
    let restIn = this.#random.below(4);
    while (figures.rounds < rounds && !isEnough(violations)) {
      figures.rounds++;
      violations.when = `round ${figures.rounds}, `;
      this.#options.trace?.(`round ${figures.rounds}`);
      await this.#round();
      if (restIn-- === 0 || isEnough(violations) || figures.rounds === rounds) {
        await this.#rest();
        restIn = 3 + this.#random.below(8);
      }
      this.#options.onRound?.(figures);
    }
  }

  async #round(): Promise<void> {
    const port = await this.#bringUp();
    if (port === undefined) return;
    this.#company.arrive(port);
    const acting = setInterval(() => this.#company.act(port), actEveryMs);
    // Sometimes while they come, sometimes while they work: on a slow machine the first takes long.
    if (this.#random.chance(60)) await this.#patience.until(() => this.#company.isAnybodyOnline);
    await delay(5 + this.#random.below(395));
    clearInterval(acting);
    await this.#finish(this.#drawEnding());
  }

  #drawEnding(): Ending {
    const choice = this.#random.below(100);
    return choice < 80 ? 'kill' : choice < 92 ? 'stop' : 'kill-at-stop';
  }

  /** A process that listens, perhaps after some that did not get that far. */
  async #bringUp(): Promise<number | undefined> {
    const { violations } = this.#books;
    if (this.#broker.port !== undefined) return this.#broker.port;
    while (this.#random.chance(12)) await this.#killAtStart();
    this.#isEnding = false;
    this.#launchedAtMs = performance.now();
    try {
      await this.#broker.start();
    } catch (error) {
      violations.add('process', String(error));
      return undefined;
    }
    const port = this.#broker.port;
    if (port === undefined) return undefined;
    this.#company.pair.connect(port);
    this.#reader = new RetainedReader(this.#books, port);
    return port;
  }

  /** Nobody is connected: a process that is killed while it reads what the last one left. */
  async #killAtStart(): Promise<void> {
    this.#books.figures.ended['kill-at-start']++;
    this.#options.trace?.('kill-at-start');
    const started = this.#broker.start().catch(() => undefined);
    await Promise.race([started, delay(5 + this.#random.below(500))]);
    await this.#broker.kill();
    await started;
  }

  async #finish(ending: Ending): Promise<void> {
    const { figures, wills, violations } = this.#books;
    figures.ended[ending]++;
    this.#isEnding = true;
    this.#options.trace?.(ending);
    if (ending === 'kill') {
      wills.kill(this.#books.provenAt);
      await this.#broker.kill();
    } else {
      wills.stop(this.#books.provenAt);
      const stopped = this.#broker.stop();
      if (ending === 'kill-at-stop') {
        await delay(this.#random.below(40));
        await this.#broker.kill();
      }
      const code = await stopped;
      if (ending === 'stop' && code !== 0) violations.add('process', `SIGTERM ended it by ${code}`);
    }
    await this.#allOffline();
    // Those whose CONNACK was still on its way.
    if (ending === 'kill') wills.kill(this.#books.provenAt);
    else wills.stop(this.#books.provenAt);
  }

  /** Reads what the dead process still said; then nobody has a connection. */
  async #allOffline(): Promise<void> {
    await this.#patience.until(() => this.#company.isOffline);
    for (const client of this.#company.clients) client.cut();
    this.#reader?.cut();
    await this.#company.pair.disconnected();
  }

  /** Everybody comes and gets what is theirs; then the books are judged. */
  async #rest(): Promise<void> {
    const { violations, wills } = this.#books;
    const company = this.#company;
    const port = await this.#bringUp();
    if (port === undefined) return;
    const allIdle = (): boolean => {
      if (this.#broker.port !== undefined) company.gather(port);
      return company.isIdle;
    };
    if (!(await this.#patience.until(allIdle))) violations.add('stuck', company.state);
    company.mark();
    const allDone = (): boolean =>
      allIdle() && !this.#books.isAnythingOwed && wills.awaited.length === 0;
    if (!(await this.#patience.until(allDone)) && company.state !== '')
      violations.add('stuck', company.state);
    for (let turn = 0; turn < 2; turn++) {
      await Promise.all(company.clients.map((client) => client.ping()));
    }
    await this.#reader?.done(this.#quietMs);
    const reader = new RetainedReader(this.#books, port);
    await reader.done(this.#quietMs);
    this.#books.settle();
  }

  #connected(): void {
    if (this.#launchedAtMs === undefined) return;
    this.#books.figures.restartMs.push(performance.now() - this.#launchedAtMs);
    this.#launchedAtMs = undefined;
  }

  async end(): Promise<void> {
    this.#isEnding = true;
    this.#reader?.cut();
    await this.#company.end();
    this.#broker.isKept = this.#books.violations.total > 0;
  }

  result(): CrashResult {
    const { figures, violations } = this.#books;
    if (violations.total === 0) return { figures, violations, failure: undefined };
    const failure = [
      `Seed ${this.#options.seed}, round ${figures.rounds}: ${violations.total} violations`,
      ...violations.lines().map((line) => `  ${line}`),
      `Log and data: ${this.#broker.place}`,
    ].join('\n');
    return { figures, violations, failure };
  }
}
