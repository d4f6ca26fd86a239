// Tells a web server what happens: clients that come and go, subscriptions, messages.

import { definePlugin, type PluginDefinition } from '#sdk';
import { configKeys, events, metricOf, readSettings, type WebHookSettings } from './config.ts';

const plugin: PluginDefinition = definePlugin<WebHookSettings>({
  name: 'broker_web_hook',
  description: 'Broker WebHook Plugin',
  config: { keys: configKeys, read: readSettings },
  metrics: {
    ...Object.fromEntries(
      events.map((event) => [
        metricOf(event),
        `Events ${event} that the web server was to be told.`,
      ]),
    ),
    'web_hook.sent': 'Events that the web server was told.',
    'web_hook.failed': 'Events that the web server did not take, after several tries.',
    'web_hook.dropped': 'Events that were not sent because too many waited.',
  },
  worker: () => import('./worker.ts'),
});

export default plugin;
