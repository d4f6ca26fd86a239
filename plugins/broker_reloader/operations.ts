// The command `reload`.

import { type AnyOperation, defineOperation, Type } from '#sdk/operations';
import type { Reloader } from './control.ts';

export default (reloader: Reloader): AnyOperation[] => [
  defineOperation({
    name: 'reload_module',
    descr: 'Take up the code and the file of a plugin',
    tag: 'Plugins',
    cli: {
      words: 'reload',
      args: ['plugin'],
      print: (_done, { plugin }) => `Reload module ${plugin} successfully.`,
      printFailure: ({ status, message }, { plugin }) =>
        `Failed to reload module ${plugin}: ${status === 404 ? 'not_found' : message}.`,
    },
    params: Type.Object({
      plugin: Type.String({ minLength: 1, maxLength: 64, description: 'The name of the plugin' }),
    }),
    run: ({ plugin }) => reloader.reload(plugin),
  }),
];
