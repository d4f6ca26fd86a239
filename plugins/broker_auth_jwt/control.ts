// The keys of the plugin, fetched and watched once for the node and shared with all workers. Laws: it does
// not start without a way to verify tokens; an issuer that cannot be reached does not keep the broker
// from starting, its tokens are refused until it is.

import { readFile } from 'node:fs/promises';
import { type ControlContext, type ControlPart, describeError, FileWatch } from '#sdk';
import { checkSources, readFileKeys, unreadable } from './check.ts';
import type { JwksSettings, Settings } from './config.ts';
import { fetchText } from './fetch-text.ts';
import { Issuer } from './issuer.ts';
import type { SharedKeys } from './public-keys.ts';

type Context = ControlContext<Settings>;

const fileAlarm = 'auth_jwt/pubkey';
const setAlarm = 'auth_jwt/jwks';
/** Below the time that a client may wait for a verdict. */
const fetchMsMax = 5000;
const setBytesMax = 262_144;
/** RFC 7518 section 3.2 asks for as many bytes as the hash has; less can be guessed from one token. */
const secretBytesMin = 32;

const control: ControlPart<Settings> = async (ctx) => {
  const { settings, log } = ctx;
  checkSources(settings);
  if (settings.secret !== undefined && Buffer.byteLength(settings.secret) < secretBytesMin) {
    log.warn('jwt.secret_short', { bytesMin: secretBytesMin });
  }
  const keys = new Keys(ctx);
  if (settings.publicKeyFile !== undefined) await watchFile(ctx, settings.publicKeyFile, keys);
  if (settings.jwks !== undefined) await watchIssuer(ctx, settings.jwks, keys);
  await keys.share();
};

export default control;

/** What workers have. */
class Keys {
  readonly #ctx: Context;
  #shared: SharedKeys = { pems: [], set: undefined };
  #isStarted = false;

  constructor(ctx: Context) {
    this.#ctx = ctx;
  }

  async change(change: Partial<SharedKeys>): Promise<void> {
    this.#shared = { ...this.#shared, ...change };
    // While it starts, the part that ran before is still the one that workers have.
    if (this.#isStarted) await this.share();
  }

  async share(): Promise<void> {
    this.#isStarted = true;
    if (!this.#ctx.signal.aborted) await this.#ctx.share(this.#shared);
  }
}

async function watchFile(ctx: Context, file: string, keys: Keys): Promise<void> {
  const { log, alarms } = ctx;
  try {
    await keys.change({ pems: await readFileKeys(file) });
  } catch (error) {
    throw unreadable(file, error);
  }
  const readAgain = async (): Promise<void> => {
    try {
      await keys.change({ pems: await readFileKeys(file) });
      alarms.clear(fileAlarm);
      log.info('jwt.pubkey_read', { file });
    } catch (error) {
      const text = `Cannot read "${file}": ${describeError(error)}; the keys of before hold`;
      alarms.raise(fileAlarm, { severity: 'error', message: text });
    }
  };
  // One reading after the other: the last one counts.
  let last = Promise.resolve();
  const watch = new FileWatch(ctx.clock, [file], () => {
    last = last.then(readAgain);
  });
  ctx.defer(() => watch[Symbol.dispose]());
  ctx.defer(() => alarms.clear(fileAlarm));
}

async function watchIssuer(ctx: Context, settings: JwksSettings, keys: Keys): Promise<void> {
  const { clock, signal, log, alarms } = ctx;
  const { url, caFile } = settings;
  const ca = caFile === undefined ? undefined : await readFile(caFile, 'utf8');
  if (url.startsWith('http:')) log.warn('jwt.jwks_insecure', { url });
  const issuer = new Issuer({
    settings,
    clock,
    fetch: () => fetchText(url, { signal, ca, timeoutMs: fetchMsMax, bytesMax: setBytesMax }),
    after: (ms, call) => (signal.aborted ? () => {} : ctx.after(ms, call)),
    onKeys: async (set) => {
      if (set === undefined) log.error('jwt.jwks_stale', { url, maxStaleMs: settings.staleMs });
      await keys.change({ set });
    },
    onFetched: ({ keys: { length }, skipped }) => {
      ctx.count('auth.jwt.jwks.fetched');
      if (skipped.length > 0) log.debug('jwt.jwks_skipped', { url, skipped });
      if (length === 0) log.warn('jwt.jwks_empty', { url });
      alarms.clear(setAlarm);
    },
    onFailed: (error) => {
      if (signal.aborted) return;
      ctx.count('auth.jwt.jwks.failed');
      alarms.raise(setAlarm, { severity: 'error', message: `Cannot fetch ${url}: ${error}` });
    },
  });
  ctx.answers({ refresh: () => issuer.refresh() });
  ctx.defer(() => alarms.clear(setAlarm));
  await issuer.start();
}
