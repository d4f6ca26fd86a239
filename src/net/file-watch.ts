// Tells when the contents of some files may have changed: edited, replaced, or reached through a
// symbolic link that was pointed elsewhere (as Kubernetes does with mounted secrets). Directories
// are watched, for a watch on a file stays with the old file; a slow poll covers file systems that
// tell nothing.

import { type FSWatcher, statSync, watch } from 'node:fs';
import { dirname } from 'node:path';
import type { Clock, ClockTimer } from '#base/clock';

export interface FileWatchTimes {
  /** Changes come in groups (certificate, then key): waits for the group to end. */
  readonly settleMs: number;
  readonly pollMs: number;
}

export class FileWatch implements Disposable {
  readonly #clock: Clock;
  readonly #files: readonly string[];
  readonly #changed: () => void;
  readonly #times: FileWatchTimes;
  readonly #watchers: FSWatcher[] = [];
  #poll: ClockTimer;
  #settling: ClockTimer | undefined;
  #known: string;

  constructor(
    clock: Clock,
    files: readonly string[],
    changed: () => void,
    times: FileWatchTimes = { settleMs: 200, pollMs: 30_000 },
  ) {
    this.#clock = clock;
    this.#files = files;
    this.#changed = changed;
    this.#times = times;
    this.#known = fingerprint(files);
    for (const directory of new Set(files.map((file) => dirname(file)))) this.#watch(directory);
    this.#poll = this.#nextPoll();
  }

  [Symbol.dispose](): void {
    this.#poll.cancel();
    this.#settling?.cancel();
    for (const watcher of this.#watchers) watcher.close();
  }

  #watch(directory: string): void {
    try {
      const watcher = watch(directory, { persistent: false }, () => this.#stirred());
      // A watcher that fails leaves the poll to do the work.
      watcher.on('error', () => watcher.close());
      this.#watchers.push(watcher);
    } catch {
      // No watches to be had (limit reached, unsupported file system): the poll remains.
    }
  }

  #stirred(): void {
    this.#settling?.cancel();
    this.#settling = this.#clock.setTimer(this.#times.settleMs, () => this.#look());
  }

  #nextPoll(): ClockTimer {
    return this.#clock.setTimer(this.#times.pollMs, () => {
      this.#poll = this.#nextPoll();
      this.#look();
    });
  }

  #look(): void {
    const found = fingerprint(this.#files);
    if (found === this.#known) return;
    this.#known = found;
    this.#changed();
  }
}

function fingerprint(files: readonly string[]): string {
  return files
    .map((file) => {
      const found = statSync(file, { throwIfNoEntry: false });
      return found === undefined ? 'none' : `${found.ino}:${found.size}:${found.mtimeMs}`;
    })
    .join(' ');
}
