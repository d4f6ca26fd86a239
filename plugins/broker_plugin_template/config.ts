// template.*: the keys of etc/plugins/broker_plugin_template.conf.

import { int, key, type KeysOf, type PluginValues, text } from '#sdk';

export interface TemplateSettings {
  readonly greeting: string;
  /** Clients that are remembered by name. */
  readonly clientsMax: number;
}

export const keys: KeysOf<TemplateSettings> = {
  greeting: key('template.greeting', text(), 'Hello', {
    shipped: 'Hello',
    text: 'What is said for every client that connects, in the log at level debug.',
  }),
  clientsMax: key('template.max_clients', int(1, 1_000_000), '1000', {
    shipped: '1000',
    text: 'Clients that are remembered as met; later ones are not counted.',
  }),
};

/** What comes out goes to all threads: plain data. */
export function readSettings(values: PluginValues): TemplateSettings {
  return values.read<TemplateSettings>(keys);
}
