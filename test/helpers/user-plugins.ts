// A directory of plugins as a user has it, for tests: folders are written, changed and broken there.

import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Managed, type ManagedOptions, startManaged } from './managed.ts';

/** So that each writing is another one for whoever compares times of files. */
let writings = 0;

export class UserPlugins implements Disposable {
  readonly dir: string = mkdtempSync(join(tmpdir(), 'broker-plugins-'));

  /** Files of a folder by name; those that are not named stay as they are. */
  write(name: string, files: Readonly<Record<string, string>>): string {
    for (const [file, text] of Object.entries(files)) {
      const path = join(this.dir, name, file);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
      utimesSync(path, new Date(), new Date(Date.now() + ++writings * 1000));
    }
    return join(this.dir, name);
  }

  /** A plugin with these fields besides its name, and these bodies of its parts. */
  plugin(name: string, { fields = '', worker, control, operations }: PluginText): string {
    const parts = Object.entries({ worker, control, operations }).filter(
      (entry): entry is [string, string] => entry[1] !== undefined,
    );
    const loading = parts.map(([part]) => `${part}: () => import('./${part}.ts'),`);
    return this.write(name, {
      'plugin.ts': `import { definePlugin } from '#sdk';
        export default definePlugin<any, any>({ name: '${name}', description: 'A test', ${fields} ${loading.join(' ')} });`,
      ...Object.fromEntries(parts.map(([part, body]) => [`${part}.ts`, textOf(part, body)])),
    });
  }

  /** A node that finds them, runs those of `plugins.loaded`, and lets everybody do everything. */
  start(options: ManagedOptions = {}): Promise<Managed> {
    const open = { allow_anonymous: 'true', acl_nomatch: 'allow' };
    const settings = { 'plugins.dir': this.dir, ...open, ...options.settings };
    return startManaged({ ...options, settings });
  }

  remove(name: string): void {
    rmSync(join(this.dir, name), { recursive: true, force: true });
  }

  [Symbol.dispose](): void {
    rmSync(this.dir, { recursive: true, force: true });
  }
}

export interface PluginText {
  /** Of `definePlugin`, each with a comma behind it. */
  readonly fields?: string;
  /** The body of the part, which has `ctx`. */
  readonly worker?: string;
  readonly control?: string;
  /** An array of operations, made with `defineOperation`, `Type` and the `service`. */
  readonly operations?: string;
}

function textOf(part: string, body: string): string {
  return part === 'operations'
    ? `import { defineOperation, noParams, Type } from '#sdk/operations';
       export default (service: any) => ${body};`
    : `export default async (ctx: any) => { ${body} };`;
}
