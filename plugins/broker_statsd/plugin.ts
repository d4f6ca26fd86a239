// The figures of the node for those who collect them by being sent: to a Prometheus push gateway, and in
// StatsD's own words over UDP.

import { definePlugin, type PluginDefinition } from '#sdk';
import { keys, readSettings, type StatsdSettings } from './config.ts';

const plugin: PluginDefinition = definePlugin<StatsdSettings>({
  name: 'broker_statsd',
  description: 'Broker Statsd: metrics to a push gateway and to StatsD',
  config: { keys: [keys], read: readSettings },
  metrics: {
    'statsd.push.success': 'Pushes that the push gateway took.',
    'statsd.push.failure': 'Pushes that the push gateway did not take.',
    'statsd.udp.success': 'Times that the figures were sent to StatsD.',
    'statsd.udp.failure': 'Times that the figures could not be sent to StatsD.',
  },
  control: () => import('./control.ts'),
});

export default plugin;
