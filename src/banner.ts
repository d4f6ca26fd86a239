// What a person sees when a broker starts in the foreground: what is open, to whom, and on which
// address. Nothing here is secret, and nothing here is a log line.

import type { Settings } from '#config/settings';

export function banner(settings: Settings, version: string, open: readonly string[]): void {
  if (settings.log.to === 'off') return;
  const lines = [
    `broker ${version} is running as ${settings.node.name}`,
    ...settings.listeners.map(({ zone }, i) => {
      const isAnonymous = settings.zones.get(zone)?.allowAnonymous === true;
      return `  ${open[i]?.padEnd(28)} ${isAnonymous ? 'anyone may connect' : 'credentials required'}`;
    }),
    `  data in ${settings.node.dataDir}`,
    ...(settings.listeners.some(({ tls }) => tls !== undefined && tls.certFile === undefined)
      ? ['  TLS with the self-signed certificate in that directory: self-signed-cert.pem']
      : []),
  ];
  console.log(lines.join('\n'));
}
