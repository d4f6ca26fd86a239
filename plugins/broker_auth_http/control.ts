// One alarm for the servers that workers have given up for now, as long as any of them has.

import { type ControlPart, controlPart } from '#sdk';
import type { HttpAuthSettings } from './config.ts';

const alarm = 'auth_http_down';

const part: ControlPart<HttpAuthSettings, void> = controlPart<HttpAuthSettings>((ctx) => {
  if (ctx.settings.auth === undefined) {
    throw new Error('Cannot authenticate by HTTP: auth.http.auth_req is not set, expected a URL');
  }
  const downByWorker = new Map<number, readonly string[]>();
  ctx.answers({
    serversDown: (worker: number, origins: readonly string[]) => {
      downByWorker.set(worker, origins);
      const servers = [...new Set([...downByWorker.values()].flat())].sort();
      if (servers.length === 0) ctx.alarms.clear(alarm);
      else ctx.alarms.raise(alarm, { servers: servers.join(' ') });
    },
  });
  ctx.defer(() => ctx.alarms.clear(alarm));
});

export default part;
