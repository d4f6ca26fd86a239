// What the node has counted, with what its plugins have.

import type { AdminParts } from './parts.ts';

/** By key: `messages/received`, `auth/http/success`. */
export function allMetrics({
  node,
  plugins,
}: Pick<AdminParts, 'node' | 'plugins'>): Record<string, number> {
  const ofPlugins = plugins.metrics().map(({ name, value }) => [name.replaceAll('.', '/'), value]);
  return { ...node.metrics(), ...Object.fromEntries(ofPlugins) };
}
