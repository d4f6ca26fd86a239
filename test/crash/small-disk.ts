// A disk of a few megabytes for a broker's data, and a ballast on it that leaves even less. Law: what was
// mounted is unmounted; where nothing can be mounted the test is skipped, and says why.

import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdirSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { Place } from '../interop/broker-process.ts';

export class SmallDisk implements Disposable {
  readonly place: Place;

  /** Undefined: it cannot be had here, and the test is skipped. */
  static mount(bytes: number, t: TestContext): SmallDisk | undefined {
    const place = new Place();
    mkdirSync(place.dataDir);
    const args = ['-t', 'tmpfs', '-o', `size=${bytes},mode=0700`, 'tmpfs', place.dataDir];
    const { status, stderr, error } = spawnSync('mount', args, { encoding: 'utf8' });
    if (status === 0) return new SmallDisk(place);
    place[Symbol.dispose]();
    t.skip(`Cannot mount a small disk: ${(error?.message ?? stderr).trim()}`);
    return undefined;
  }

  private constructor(place: Place) {
    this.place = place;
  }

  get #ballast(): string {
    return join(this.place.dataDir, 'ballast');
  }

  get freeBytes(): number {
    const { bavail, bsize } = statfsSync(this.place.dataDir);
    return bavail * bsize;
  }

  /** Leaves so many bytes, or what there is. */
  fill(leftBytes: number): void {
    appendFileSync(this.#ballast, Buffer.alloc(Math.max(0, this.freeBytes - leftBytes)));
  }

  /** Takes the ballast away. */
  empty(): void {
    rmSync(this.#ballast);
  }

  [Symbol.dispose](): void {
    const { status, stderr } = spawnSync('umount', [this.place.dataDir], { encoding: 'utf8' });
    if (status !== 0) throw new Error(`Cannot unmount "${this.place.dataDir}": ${stderr.trim()}`);
    this.place[Symbol.dispose]();
  }
}
