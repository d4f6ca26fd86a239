// plugins.*: which plugins there are, and how long the broker waits for them.

import { type KeysOf, key, optionalKey } from './key.ts';
import type { PluginHostSettings } from './settings.ts';
import { durationMs, text, type ValueType } from './value-type.ts';

const pluginNames: ValueType<readonly string[]> = {
  expects: 'names of plugins with commas between them',
  parse(written) {
    const names = written.split(',').map((name) => name.trim());
    return names.every((name) => /^[a-z0-9_]{1,64}$/.test(name)) ? names : undefined;
  },
};

export const pluginHostKeys: KeysOf<PluginHostSettings> = {
  dir: optionalKey('plugins.dir', text('the path of a directory'), {
    sample: 'extensions',
    text:
      'Directory of your own plugins, one folder with a plugin.ts each, besides those that come with ' +
      'the broker. Who can write there runs code inside the broker.',
  }),
  loaded: key(
    'plugins.loaded',
    pluginNames,
    'broker_management,broker_recon,broker_retainer,broker_dashboard,broker_rule_engine',
    {
      shipped: 'broker_management,broker_recon,broker_retainer,broker_dashboard,broker_rule_engine',
      text:
        'Plugins that the first start loads. From then on the list loaded_plugins of node.data_dir ' +
        'holds, which "broker_ctl plugins load" and "unload" change.',
    },
  ),
  hookDeadlineMs: key('plugins.hook_deadline', durationMs(100), '10s', {
    shipped: '10s',
    text:
      'How long a plugin may take to decide about a connect, a publish or a subscription. One that has ' +
      'not answered by then has said no.',
  }),
};
