// Turns the error of a failed `listen` into one that names the listener, the address, and what to do.

import type { ListenerSettings } from '#config/settings';

export function cannotListen(settings: ListenerSettings, cause: unknown): Error {
  const key = `listener.${settings.kind}.${settings.name}`;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause);
  const example = settings.host === undefined ? '' : `${settings.host}:`;
  const remedies: Readonly<Record<string, string>> = {
    EADDRINUSE: `it is in use, stop what uses it or choose another with --set ${key}=${example}<port>`,
    EACCES: `not permitted, choose a port over 1023 with --set ${key}=${example}<port>`,
    EADDRNOTAVAIL: `this machine has no such address, choose one with --set ${key}=<address>:${settings.port}`,
  };
  const remedy = remedies[code] ?? code;
  return new Error(`Cannot listen on "${settings.listenOn}" for ${key}: ${remedy}`, { cause });
}
