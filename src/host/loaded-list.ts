// Which plugins are to run: `loaded_plugins` of the data directory, one line `{name, true}.` each, in the
// order in which they were loaded. Law: the file is replaced as a whole, and is on disk before anybody is
// told so.

import { readFileSync } from 'node:fs';
import { open, rename } from 'node:fs/promises';
import { join } from 'node:path';

export class LoadedList {
  readonly #file: string;

  constructor(dataDir: string) {
    this.#file = join(dataDir, 'loaded_plugins');
  }

  /** Undefined: there is no list yet. Throws for a line that is none. */
  read(): string[] | undefined {
    let text: string;
    try {
      text = readFileSync(this.#file, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
    const lines = text.split('\n').map((line) => line.replace(/%.*/, '').trim());
    return lines.flatMap((line, i) => (line === '' ? [] : (this.#entry(line, i + 1) ?? [])));
  }

  #entry(line: string, number: number): string | undefined {
    const found =
      /^(?:([a-z][a-z0-9_]*)|\{\s*([a-z][a-z0-9_]*)\s*,\s*(true|false)\s*\})\s*\.$/.exec(line);
    if (found === null) {
      throw new Error(
        `Cannot read ${this.#file}:${number}: found "${line}", expected {<plugin>, true}.`,
      );
    }
    return found[3] === 'false' ? undefined : (found[1] ?? found[2]);
  }

  async write(names: readonly string[]): Promise<void> {
    const fresh = `${this.#file}.new`;
    {
      await using handle = await open(fresh, 'w', 0o600);
      await handle.writeFile(names.map((name) => `{${name}, true}.\n`).join(''));
      await handle.sync();
    }
    await rename(fresh, this.#file);
  }
}
