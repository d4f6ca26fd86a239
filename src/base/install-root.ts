// Where the broker is installed: the directory that holds etc/ and plugins/. In a file of its own because every
// worker needs to know, and none of them reads the configuration.

import { fileURLToPath } from 'node:url';

/** Relative paths in the configuration start here. */
export const installRoot: string = fileURLToPath(new URL('../..', import.meta.url));
