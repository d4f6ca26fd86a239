// What a person sees when a broker starts in the foreground: what is open, to whom, and on which
// address. The one secret here is that of the first application, at the first start. No log lines.

import type { Settings } from '#config/settings';

export interface HttpOpen {
  readonly ports: readonly string[];
  /** The dashboard lets in whoever knows the shipped password. */
  readonly isPublic: boolean;
  /** The application that has just been made; its secret is shown this once. */
  readonly firstApp?:
    | { readonly id: string; readonly secret: string; readonly file: string }
    | undefined;
}

/** `open`: in the order of the settings. */
export function banner(
  settings: Settings,
  version: string,
  open: readonly string[],
  http: HttpOpen = { ports: [], isPublic: false },
): void {
  if (settings.log.to === 'off') return;
  const lines = [
    `broker ${version} is running as ${settings.node.name}`,
    ...settings.listeners.map(({ zone }, i) => {
      const isAnonymous = settings.zones.get(zone)?.allowAnonymous === true;
      return `  ${open[i]?.padEnd(28)} ${isAnonymous ? 'anyone may connect' : 'credentials required'}`;
    }),
    ...http.ports.map((one) => {
      const isDashboard = /^https?:dashboard/.test(one);
      return `  ${one.padEnd(28)} ${isDashboard ? dashboardWords(settings, http) : 'applications'}`;
    }),
    `  data in ${settings.node.dataDir}`,
    ...(http.firstApp === undefined
      ? []
      : [
          `  REST API: application "${http.firstApp.id}" with the secret ${http.firstApp.secret}`,
          `            shown this once; also in ${http.firstApp.file}`,
        ]),
    ...(settings.listeners.some(({ tls }) => tls !== undefined && tls.certFile === undefined)
      ? ['  TLS with the self-signed certificate in that directory: self-signed-cert.pem']
      : []),
  ];
  console.log(lines.join('\n'));
}

function dashboardWords({ dashboard: { defaultLogin } }: Settings, { isPublic }: HttpOpen): string {
  if (!isPublic) return 'users';
  return `users; CHANGE THE SHIPPED PASSWORD: broker_ctl admins passwd ${defaultLogin} <password>`;
}
