// Tells systemd how far the process is (`Type=notify`). Node.js has no datagram sockets of the unix
// family, so systemd's own `systemd-notify` does the sending; units need `NotifyAccess=all` for it.
// Without NOTIFY_SOCKET in the environment there is no supervisor and nothing happens.

import { execFile } from 'node:child_process';

const deadlineMs = 2000;

/** Never fails: a supervisor that cannot be told is a warning. */
export async function notifySupervisor(
  state: 'READY=1' | 'STOPPING=1',
  warn: (event: string, fields: object) => void,
): Promise<void> {
  if (!process.env['NOTIFY_SOCKET']) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  execFile('systemd-notify', [state], { timeout: deadlineMs }, (error) => {
    if (error !== null) warn('supervisor.unreachable', { state, error: error.message });
    resolve();
  });
  await promise;
}
