// The file of access rules as management keeps it: read before anybody is let in, upheld in every worker,
// and read anew on demand. Laws: a node does not start with rules that it cannot read; rules that cannot be
// read anew change nothing, and an alarm stands until they can; rules that are read anew hold in every
// worker, and for what is there already, before that is confirmed.

import type { Logger } from '#base/log';
import type { Settings } from '#config/settings';
import { showPath } from '#config/sources';
import type { Alarms } from '#core/alarms';
import type { WorkersFace } from '#node/node-face';
import { AclDiffs } from './acl-diff.ts';
import { type AclSource, AclUnusable, readAcl } from './acl-source.ts';
import { OperatingError } from './failures.ts';
import { operating } from './operating.ts';

export interface AclParts {
  readonly workers: WorkersFace;
  readonly settings: Pick<Settings, 'acl'>;
  readonly alarms: Pick<Alarms, 'raise' | 'clear'>;
  readonly log: Logger;
}

/** What came of reading the rules anew. */
export interface Reloaded {
  readonly rules: number;
  /** Subscriptions that ended because they are no longer allowed, and of how many clients. */
  readonly subscriptions: number;
  readonly clients: number;
  /** Messages that waited for them. */
  readonly messages: number;
  /** Subscriptions that a plugin could not be asked about; they stay. */
  readonly undecided: number;
  /** Workers that could not say in time what ended, with the reason. */
  readonly missing: readonly string[];
}

const alarm = 'acl_reload_failed';
/** Looking through the subscriptions of a worker gives way to its clients, and takes its time. */
const recheckMsMax = 120_000;

export class Acl {
  readonly diffs: AclDiffs;
  readonly #parts: AclParts;
  /** One after another: what is read last is what holds. */
  #reloading: Promise<unknown> = Promise.resolve();

  constructor(parts: AclParts) {
    this.#parts = parts;
    this.diffs = new AclDiffs(parts.workers);
  }

  /** As it is shown; undefined: `acl_file` is not set. */
  get file(): string | undefined {
    const { file } = this.#parts.settings.acl;
    return file === undefined ? undefined : showPath(file);
  }

  /** Before anybody is let in. Throws AclUnusable. */
  async start(): Promise<void> {
    const { settings, log, workers } = this.#parts;
    const { file } = settings.acl;
    if (file === undefined) return;
    const { text, rules } = await readAcl(file);
    await workers.uphold('setAcl', [text]);
    log.info('acl.loaded', { file, rules: rules.length });
  }

  reload(): Promise<Reloaded> {
    const reloaded = this.#reloading.then(() => this.#reload());
    this.#reloading = reloaded.catch(() => undefined);
    return reloaded;
  }

  async #reload(): Promise<Reloaded> {
    const { alarms, settings, log, workers } = this.#parts;
    const { file, isRechecked } = settings.acl;
    if (file === undefined) {
      throw new OperatingError('failed', 'Cannot reload access rules: acl_file is not set');
    }
    const { text, rules } = await this.#read(file);
    await operating(workers.uphold('setAcl', [text]));
    alarms.clear(alarm);
    const ended = isRechecked ? await this.#recheck() : nothingEnded;
    const reloaded = { rules: rules.length, ...ended };
    log.info('acl.reloaded', { file, ...reloaded });
    return reloaded;
  }

  async #read(file: string): Promise<AclSource> {
    try {
      return await readAcl(file);
    } catch (error) {
      if (!(error instanceof AclUnusable)) throw error;
      const { message } = error;
      this.#parts.log.warn('acl.reload.failed', { file, error: message });
      this.#parts.alarms.raise(alarm, { file, error: message });
      throw new OperatingError('failed', `${message}\nThe rules before it hold`, { cause: error });
    }
  }

  async #recheck(): Promise<Omit<Reloaded, 'rules'>> {
    const { workers, log } = this.#parts;
    const { answers, missing } = await workers.everywhere('recheckRights', [], recheckMsMax);
    for (const [worker, why] of missing) log.warn('acl.recheck.unanswered', { worker, why });
    const sum = (of: 'subscriptions' | 'clients' | 'messages' | 'undecided'): number =>
      answers.reduce((total, [, ended]) => total + ended[of], 0);
    return {
      subscriptions: sum('subscriptions'),
      clients: sum('clients'),
      messages: sum('messages'),
      undecided: sum('undecided'),
      missing: missing.map((one) => one.join(': ')),
    };
  }
}

const nothingEnded: Omit<Reloaded, 'rules'> = {
  subscriptions: 0,
  clients: 0,
  messages: 0,
  undecided: 0,
  missing: [],
};
