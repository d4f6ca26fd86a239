// Rounds of work and deaths of single workers: the process lives, one worker of it dies at a drawn
// moment, sometimes a second one while the first is being replaced, and clients come and go meanwhile.
// Laws beside those of the books: the process goes on, nobody's connection ends but those in the
// worker that died, a successor comes, and an alarm tells of it.

import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Random } from '../fuzz/random.ts';
import { Books } from './books.ts';
import { BrokerProcess } from './broker-under-test.ts';
import { Company } from './company.ts';
import type { CrashResult } from './crash-run.ts';
import type { Manner } from './death-order.ts';
import { Patience } from './patience.ts';
import { RetainedReader } from './retained-reader.ts';
import type { SessionClient } from './session-client.ts';
import type { Violations } from './violations.ts';

export interface DeathOptions {
  readonly rounds: number;
  readonly seed: number;
  /** Runs mortal-broker.ts. */
  readonly broker: BrokerProcess;
  readonly workers: number;
  readonly quietMs?: number;
  readonly trace?: ((line: string) => void) | undefined;
  readonly isEnough?: (violations: Violations) => boolean;
  readonly onRound?: (line: string) => void;
}

const manners: readonly Manner[] = ['throw', 'exit', 'publish', 'publish'];
const usualQuietMs = 5000;
const successorMsMax = 60_000;
const publishMsMax = 3000;
const actEveryMs = 3;

interface LogLine {
  readonly event: string;
  readonly worker?: number;
  readonly clientId?: string;
  readonly name?: string;
}

/** A process whose workers die when they are told to. */
export function mortalBroker(
  workers: number,
  sets: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): BrokerProcess {
  return new BrokerProcess({
    entry: fileURLToPath(new URL('./mortal-broker.ts', import.meta.url)),
    sets: [`node.workers=${workers}`, ...sets],
    env,
    expectedErrors: ['worker.died'],
  });
}

export async function deathRun(options: DeathOptions): Promise<CrashResult> {
  const run = new DeathRun(options);
  try {
    await run.play();
  } finally {
    await run.end();
  }
  return run.result();
}

class DeathRun {
  readonly #options: DeathOptions;
  readonly #quietMs: number;
  readonly #random: Random;
  readonly #books: Books = new Books();
  readonly #company: Company;
  readonly #patience: Patience;
  /** In which worker a client was connected last, as far as the log has told. */
  readonly #places = new Map<string, number>();
  /** Told to die, and no successor has come; and those of them that live on so far. */
  readonly #dying = new Set<number>();
  readonly #alive = new Set<number>();
  /** Deaths that were ordered and deaths that happened, and the alarms that told of them. */
  #died = 0;
  #restarted = 0;
  readonly #alarmed = new Set<string>();

  constructor(options: DeathOptions) {
    this.#options = options;
    this.#quietMs = options.quietMs ?? usualQuietMs;
    this.#patience = new Patience(this.#quietMs);
    this.#random = new Random(options.seed);
    this.#company = new Company(this.#books, this.#random);
    const { broker, trace } = options;
    // What a session in memory published has no name in the store by which a repetition is known, and
    // may wait for a worker that is down while the next session of that client is served elsewhere.
    this.#books.isLoose = (publisher) => publisher.startsWith('pub-brief');
    this.#books.wills.mayRepeat = true;
    broker.onFault = (line) => this.#books.violations.add('process', line.slice(0, 500));
    broker.onLine = (line) => {
      if (line.startsWith('{')) this.#onLog(JSON.parse(line) as LogLine);
    };
    this.#company.pair.onChange = () => this.#patience.changed();
    for (const client of this.#company.clients) {
      client.onChange = () => {
        if (client.isOffline) this.#places.delete(client.spec.name);
        this.#patience.changed();
      };
      client.trace = trace;
      client.mayRefuse = true;
      client.onLost = (words, hasCrossed) => {
        if (hasCrossed) this.#books.figures.crossed++;
        else this.#onLost(client, words);
      };
    }
  }

  #onLog({ event, worker = -1, clientId = '', name = '' }: LogLine): void {
    if (event === 'test.placed') this.#places.set(clientId, worker);
    if (event === 'test.left' && this.#places.get(clientId) === worker)
      this.#places.delete(clientId);
    if (event === 'alarm.raised') this.#alarmed.add(name);
    if (event === 'worker.died') {
      this.#died++;
      this.#alive.delete(worker);
      // Who was there is somewhere else soon, and another death may take what the log says of that.
      for (const [name, place] of this.#places) if (place === worker) this.#places.delete(name);
    }
    if (event === 'worker.restarted') {
      this.#restarted++;
      this.#dying.delete(worker);
    }
    this.#options.trace?.(`${event} ${worker} ${clientId}${name}`);
    this.#patience.changed();
  }

  /** Where the log has not told it yet, it may have been the worker that died. */
  #onLost({ spec, isOnline }: SessionClient, words: string): void {
    const place = isOnline ? this.#places.get(spec.name) : undefined;
    this.#books.wills.doubt(spec.name);
    if (this.#dying.size > 0 && (place === undefined || this.#dying.has(place))) return;
    const told = `the connection of "${spec.name}" in worker ${place} was ended`;
    const dead = [...this.#dying].join(', ');
    this.#books.violations.add('protocol', `${told} by "${words}", though dead is only "${dead}"`);
  }

  async play(): Promise<void> {
    const { figures, violations } = this.#books;
    const { rounds, broker, isEnough = ({ total }) => total > 0 } = this.#options;
    await broker.start();
    const { pid, port } = broker;
    if (port === undefined) return;
    this.#company.pair.connect(port);
    let restIn = this.#random.below(3);
    while (figures.rounds < rounds && !isEnough(violations) && broker.port !== undefined) {
      figures.rounds++;
      violations.when = `round ${figures.rounds}, `;
      this.#options.trace?.(`round ${figures.rounds}`);
      await this.#round(port);
      if (restIn-- === 0 || isEnough(violations) || figures.rounds === rounds) {
        await this.#rest(port);
        restIn = 1 + this.#random.below(5);
      }
      this.#options.onRound?.(`${figures.line}; ${this.#died} deaths`);
    }
    if (broker.port === undefined || broker.pid !== pid) violations.add('process', 'it is gone');
  }

  async #round(port: number): Promise<void> {
    const { broker, trace } = this.#options;
    const random = this.#random;
    this.#arrive(port);
    const acting = setInterval(() => this.#company.act(port), actEveryMs);
    await delay(5 + random.below(200));
    const order = (): void => {
      const worker = random.below(this.#options.workers);
      const manner = random.pick(manners);
      if (this.#dying.has(worker)) return;
      this.#dying.add(worker);
      this.#alive.add(worker);
      trace?.(`die ${worker} ${manner}`);
      this.#books.wills.stop(0);
      broker.say(`die ${worker} ${manner}`);
    };
    order();
    if (random.chance(25)) {
      await delay(random.below(300));
      order();
    }
    await delay(random.below(300));
    this.#arrive(port);
    const isReplaced = (): boolean => this.#dying.size === 0 || broker.port === undefined;
    const late = (): Error => new Error('late');
    const look = (): true | undefined => (isReplaced() ? true : undefined);
    // Who dies at its next publish needs one, and there may be no publisher left there.
    const coming = setInterval(() => this.#arrive(port), 500);
    const enough = setTimeout(() => {
      for (const worker of this.#alive) broker.say(`die ${worker} exit`);
    }, publishMsMax);
    await this.#patience.watch.until(look, successorMsMax, late).catch(() => {
      this.#books.violations.add('stuck', `no successor of ${[...this.#dying].join(', ')}`);
      this.#dying.clear();
    });
    clearTimeout(enough);
    clearInterval(coming);
    clearInterval(acting);
    broker.say('forgive');
  }

  #arrive(port: number): void {
    this.#company.pair.comeBack();
    this.#company.arrive(port);
  }

  /** Everybody comes and gets what is theirs; then the books are judged. */
  async #rest(port: number): Promise<void> {
    const { violations } = this.#books;
    const company = this.#company;
    this.#books.wills.stop(0);
    const allIdle = (): boolean => {
      company.gather(port);
      return company.isIdle;
    };
    if (!(await this.#patience.until(allIdle))) violations.add('stuck', company.state);
    company.mark();
    const allDone = (): boolean => allIdle() && !this.#books.isAnythingOwed;
    if (!(await this.#patience.until(allDone)) && company.state !== '')
      violations.add('stuck', company.state);
    for (let turn = 0; turn < 2; turn++) {
      await Promise.all(company.clients.map((client) => client.ping()));
    }
    await new RetainedReader(this.#books, port).done(this.#quietMs);
    this.#books.settle();
  }

  async end(): Promise<void> {
    const { broker } = this.#options;
    const { violations } = this.#books;
    for (const client of this.#company.clients) client.onLost = () => undefined;
    if (this.#died > 0 && this.#alarmed.size === 0)
      violations.add('process', 'no alarm told of it');
    const code = await broker.stop();
    if (code !== 0) violations.add('process', `SIGTERM ended it by ${code}`);
    await this.#company.end();
    broker.isKept = violations.total > 0;
  }

  result(): CrashResult {
    const { figures, violations } = this.#books;
    const { broker, seed } = this.#options;
    if (violations.total === 0) return { figures, violations, failure: undefined };
    const failure = [
      `Seed ${seed}, round ${figures.rounds}, ${this.#died} deaths, ${this.#restarted} successors: ${violations.total} violations`,
      ...violations.lines().map((line) => `  ${line}`),
      `Log and data: ${broker.place}`,
    ].join('\n');
    return { figures, violations, failure };
  }
}
