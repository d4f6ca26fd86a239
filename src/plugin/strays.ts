// What a plugin throws where nobody waits for it: a promise that it let go, a timer or a socket of the
// runtime. Laws: it is the plugin's failure, told under its name, and ends neither the thread nor the
// process; what cannot be traced to a plugin ends them as ever, because then the fault is ours.

import { AsyncLocalStorage } from 'node:async_hooks';
import { pathToFileURL } from 'node:url';
import { installRoot } from '#base/install-root';
import type { Failed } from './belongings.ts';

/** By the address of a folder; the reading that started last. */
const byFolder = new Map<string, Failed>();
/** What came back from the broker to a plugin: its stack shows none of the plugin's code. */
const byError = new WeakMap<WeakKey, Failed>();
/** Whatever a part sets going while it starts: sockets fail without a word of whose they are. */
const starting = new AsyncLocalStorage<Failed>();
const ownCode = `${pathToFileURL(installRoot).href.replace(/\/*$/, '')}/src/`;
let isWatching = false;
/** Nobody's, and on its way to end the process. */
let fatal: unknown;

/** Runs the start of a part of the plugin in this folder; from now on strays of its code are told to `failed`. */
export function owningStrays<T>(folder: string, failed: Failed, start: () => T): T {
  watch();
  byFolder.set(`${pathToFileURL(folder).href}/`, failed);
  return starting.run(failed, start);
}

/** A promise that is handed to a plugin, which may let it go. */
export function handedOut<T>(promise: Promise<T>, failed: Failed): Promise<T> {
  return promise.catch((error: unknown) => {
    if (typeof error === 'object' && error !== null) byError.set(error, failed);
    throw error;
  });
}

function watch(): void {
  if (isWatching) return;
  isWatching = true;
  process.on('unhandledRejection', (error) => take('unhandledRejection', error));
  process.on('uncaughtException', (error) => take('uncaughtException', error));
}

function take(event: 'unhandledRejection' | 'uncaughtException', error: unknown): void {
  const failed = error === fatal ? undefined : ownerOf(error);
  if (failed !== undefined) {
    failed(error);
    return;
  }
  // Somebody else decides about those: a runner of tests.
  if (process.listenerCount(event) > 1) return;
  fatal = error;
  throw error;
}

function ownerOf(error: unknown): Failed | undefined {
  if (typeof error !== 'object' || error === null) return starting.getStore();
  const { stack } = error as { readonly stack?: unknown };
  const text = typeof stack === 'string' ? stack : '';
  const known = byError.get(error);
  if (known !== undefined) return known;
  for (const [folder, failed] of byFolder) if (text.includes(folder)) return failed;
  return text.includes(ownCode) ? undefined : starting.getStore();
}
