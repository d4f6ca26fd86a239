// All functions of SQL by name: the one table that calls are compiled from and the documentation is made of.

import { codecFunctions } from './functions-codec.ts';
import { collectionFunctions } from './functions-collection.ts';
import { conversionFunctions } from './functions-conversion.ts';
import { dateFunctions } from './functions-date.ts';
import { eventFunctions } from './functions-event.ts';
import { formatFunctions } from './functions-format.ts';
import { mathFunctions } from './functions-math.ts';
import { regexFunctions } from './functions-regex.ts';
import { textFunctions } from './functions-text.ts';
import type { SqlFunction } from './sql-function.ts';

/** In the order of the documentation. */
export const sqlFunctions: ReadonlyMap<string, SqlFunction> = new Map(
  [
    eventFunctions,
    mathFunctions,
    conversionFunctions,
    textFunctions,
    formatFunctions,
    regexFunctions,
    collectionFunctions,
    codecFunctions,
    dateFunctions,
  ]
    .flat()
    .map((entry) => [entry.name, entry]),
);
