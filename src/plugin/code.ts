// The code of plugins, as it is loaded: a folder's plugin.ts with what it imports from its own folder. Code
// that has changed is loaded under a new number, beside what is there: the runtime forgets no module, so
// every change costs the memory of the folder once. Also the door `#sdk` for folders that lie elsewhere.

import { readdirSync, statSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { installRoot } from '#base/install-root';
import { type PluginDefinition, pluginNamePattern } from './contract.ts';

/** `?code=3` behind the address of a module: the third reading of its folder. */
const query = 'code';
const folders = new Map<string, string>();
const rootUrl = pathToFileURL(installRoot).href;
const doors: ReadonlyMap<string, string> = new Map([
  ['#sdk', new URL('src/sdk.ts', `${rootUrl.replace(/\/*$/, '')}/`).href],
  ['#sdk/operations', new URL('src/sdk-operations.ts', `${rootUrl.replace(/\/*$/, '')}/`).href],
]);
let isHooked = false;

/** Reads `plugin.ts` of a folder. `reading`: 0 for the first, another number for each change. */
export async function loadPluginCode(folder: string, reading: number): Promise<PluginDefinition> {
  const url = pathToFileURL(join(folder, 'plugin.ts'));
  // From then on every module of the thread takes the longer way: what is shipped does without.
  if (reading > 0 || !url.href.startsWith(rootUrl)) hookResolution();
  if (reading > 0) {
    url.searchParams.set(query, String(reading));
    folders.set(String(reading), `${pathToFileURL(folder).href}/`);
  }
  const loaded = (await import(url.href)) as { readonly default?: PluginDefinition };
  const definition = loaded.default;
  if (typeof definition?.name !== 'string' || !pluginNamePattern.test(definition.name)) {
    throw new TypeError(
      `Cannot use ${join(folder, 'plugin.ts')}: expected "export default definePlugin({ name, … })"`,
    );
  }
  const { config } = definition;
  const isReadable =
    config === undefined || (Array.isArray(config.keys) && typeof config.read === 'function');
  if (!isReadable) {
    throw new TypeError(
      `Cannot use config of ${join(folder, 'plugin.ts')}: expected { keys: [ … ], read: (values) => … }`,
    );
  }
  return definition;
}

/** What a file of a plugin exports, where types have not been looked at. */
export function partOf<F>({ default: part }: { readonly default: F }, name: string): F {
  if (typeof part === 'function') return part;
  throw new TypeError(`Cannot run its ${name} part: expected "export default" of a function`);
}

/** Differs when a file of the folder does; '': there is no such folder any more. */
export function codeStamp(folder: string): string {
  try {
    const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    return names
      .filter((name) => /\.(?:[cm]?[jt]s|json)$/.test(name) && !name.includes('node_modules'))
      .sort()
      .flatMap((name) => {
        // Gone since the folder was read: an editor was writing.
        const found = statSync(join(folder, name), { throwIfNoEntry: false });
        return found === undefined ? [] : `${name}:${found.mtimeMs}:${found.size}`;
      })
      .join('|');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}

function hookResolution(): void {
  if (isHooked) return;
  isHooked = true;
  registerHooks({
    resolve(specifier, context, next) {
      const door = doors.get(specifier);
      // A folder outside the installation has no package.json of ours above it.
      if (door !== undefined && context.parentURL?.startsWith(rootUrl) !== true) {
        return { url: door, shortCircuit: true };
      }
      const resolved = next(specifier, context);
      const parent = context.parentURL;
      if (parent?.includes(`?${query}=`) !== true) return resolved;
      const reading = new URL(parent).searchParams.get(query) ?? '';
      const folder = folders.get(reading);
      if (folder === undefined || !resolved.url.startsWith(folder)) return resolved;
      const url = new URL(resolved.url);
      url.searchParams.set(query, reading);
      return { ...resolved, url: url.href };
    },
  });
}
