// What a person sees when a broker starts: what is open, to whom, and on which address, and at the first
// start how to use its API. The one secret here is that of the first application. No log lines.

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
  console.log(bannerLines(settings, version, open, http).join('\n'));
}

export function bannerLines(
  settings: Settings,
  version: string,
  open: readonly string[],
  http: HttpOpen,
): string[] {
  const columns = Math.max(...[...open, ...http.ports].map(({ length }) => length));
  const line = (address: string, words: string): string => `  ${address.padEnd(columns)}  ${words}`;
  return [
    `broker ${version} is running as ${settings.node.name}`,
    ...settings.listeners.map(({ zone }, i) => {
      const isAnonymous = settings.zones.get(zone)?.allowAnonymous === true;
      return line(open[i] ?? '', isAnonymous ? 'anyone may connect' : 'credentials required');
    }),
    ...http.ports.map((one) => {
      const isDashboard = /^https?:dashboard/.test(one);
      const users = isDashboard ? dashboardWords(settings, http) : 'applications';
      return line(one, `REST API, for ${users}`);
    }),
    `  data in ${settings.node.dataDir}`,
    ...firstAppLines(http),
    ...(settings.listeners.some(({ tls }) => tls !== undefined && tls.certFile === undefined)
      ? ['  TLS with the self-signed certificate in that directory: self-signed-cert.pem']
      : []),
  ];
}

function dashboardWords({ dashboard: { defaultLogin } }: Settings, { isPublic }: HttpOpen): string {
  if (!isPublic) return 'users';
  return `users; CHANGE THE SHIPPED PASSWORD: bin/broker_ctl admins passwd ${defaultLogin} <password>`;
}

function firstAppLines({ firstApp, ports }: HttpOpen): string[] {
  if (firstApp === undefined) return [];
  const { id, secret, file } = firstApp;
  const lines = [
    `application "${id}" with the secret ${secret}`,
    `shown this once; also in ${file}`,
    ...ports.flatMap(callLines(file)).slice(0, 2),
  ];
  return lines.map((text, i) => `  ${(i === 0 ? 'REST API:' : '').padEnd(10)}${text}`);
}

/** Ready to be copied; a certificate of our own is known to nobody else. */
function callLines(file: string): (port: string) => string[] {
  return (port) => {
    const [, scheme, host = '', number] = /^(https?):management (.*):(\d+)$/.exec(port) ?? [];
    if (scheme === undefined) return [];
    const isAny = ['*', '0.0.0.0', '[::]'].includes(host);
    const url = `${scheme}://${isAny ? '127.0.0.1' : host}:${number}/api/v3`;
    const trusting = scheme === 'https' ? '-k ' : '';
    return [`curl ${trusting}-u "$(cat '${file}')" ${url}/nodes`, `all it can do: ${url}/docs`];
  };
}
