// What the node has counted and what it has, with its plugins.

import type { NodeFace } from '#node/node-face';
import type { PluginsFace } from './plugins-face.ts';

interface Counted<N extends keyof NodeFace, P extends keyof PluginsFace> {
  readonly node: Pick<NodeFace, N>;
  readonly plugins: Pick<PluginsFace, P>;
}

/** By key: `messages/received`, `auth/http/success`. */
export function allMetrics({
  node,
  plugins,
}: Counted<'metrics', 'metrics'>): Record<string, number> {
  const ofPlugins = plugins.metrics().map(({ name, value }) => [name.replaceAll('.', '/'), value]);
  return { ...node.metrics(), ...Object.fromEntries(ofPlugins) };
}

/** By key: `sessions/count`, `rules/max`. */
export function allStats({ node, plugins }: Counted<'stats', 'gauges'>): Record<string, number> {
  const ofPlugins = plugins.gauges().flatMap(({ name, count, max }) => {
    const key = name.replaceAll('.', '/');
    return [
      [`${key}/count`, count],
      [`${key}/max`, max],
    ];
  });
  return { ...node.stats(), ...Object.fromEntries(ofPlugins) };
}
