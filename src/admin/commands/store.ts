// What is in the store, on the console. The command has the name of the original's database.

import { Type } from 'typebox';
import { keyLine } from '../key-lines.ts';
import { type AnyOperation, define } from '../operation.ts';
import { noParams } from '../paging.ts';
import type { AdminParts } from '../parts.ts';

const keyColumns = 24;

interface StoreStatus {
  readonly directory: string;
  readonly tables: Readonly<Record<string, number>>;
}

export function storeCommands({ node, settings }: AdminParts): AnyOperation[] {
  return [
    define({
      name: 'store_status',
      descr: 'Show the store: its directory, its tables and how many entries they have',
      tag: 'Nodes',
      cli: {
        words: 'mnesia',
        args: [],
        print: ({ directory, tables }: StoreStatus) =>
          [
            keyLine('directory', directory, keyColumns),
            ...Object.entries(tables).map(([name, count]) =>
              keyLine(`table/${snakeCase(name)}`, count, keyColumns),
            ),
          ].join('\n'),
      },
      params: noParams,
      result: Type.Object({
        directory: Type.String(),
        tables: Type.Record(Type.String(), Type.Integer()),
      }),
      run: () => ({ directory: settings.node.dataDir, tables: node.tables() }),
    }),
  ];
}

/** As all names that commands print are written. */
function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
