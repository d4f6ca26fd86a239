// The operations of plugins on paper, without running them: the catalogue of all that come with the broker,
// from which whatever derives from operations is made, and who would have a command.

import { type Catalogue, facesOf } from '#admin/catalogue';
import { firstWord } from '#admin/console-usage';
import type { AnyOperation } from '#admin/operation';
import { paper, paperCatalogue } from '#admin/paper-catalogue';
import { discoverPlugins, type FoundPlugin } from '#plugin/discover';
import type { BuiltIn } from './built-in.ts';

export async function paperCatalogueOfAll(): Promise<Catalogue> {
  const catalogue = paperCatalogue();
  for (const found of await discoverPlugins()) {
    const { name, definition, fault } = found;
    if (definition === undefined) throw new Error(`Cannot read plugin ${name}: ${fault}`);
    catalogue.replace(name, await operationsOf(found));
  }
  return catalogue;
}

/** The first of these whose commands begin with this word. */
export async function commandOwner(
  word: string,
  {
    builtIn,
    found,
  }: { readonly builtIn: readonly BuiltIn[]; readonly found: readonly FoundPlugin[] },
): Promise<string | undefined> {
  for (const { name, operations } of builtIn) {
    if (hasCommand((await operations?.()) ?? [], word)) return name;
  }
  for (const one of found) {
    // What is wrong with one that cannot be read, whoever loads it is told.
    const operations = await operationsOf(one).catch(() => []);
    if (hasCommand(operations, word)) return one.name;
  }
  return undefined;
}

function hasCommand(operations: readonly AnyOperation[], word: string): boolean {
  return operations.flatMap(facesOf).some(({ words }) => firstWord(words) === word);
}

async function operationsOf({ name, definition }: FoundPlugin): Promise<readonly AnyOperation[]> {
  const part = await definition?.operations?.();
  return (part?.default(paper<object>(name) as never) ?? []) as readonly AnyOperation[];
}
