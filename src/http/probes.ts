// What a supervisor or a load balancer asks without credentials: whether the process lives, whether it
// serves, and both in the two lines that the original answers.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { pathOf } from './request-path.ts';

export interface Health {
  readonly node: string;
  /** Nothing is starting, stopping or down. Not to know is not to be ready. */
  isReady(): Promise<boolean>;
}

interface Report {
  readonly status: number;
  readonly text: string;
}

type Probe = (health: Health) => Report | Promise<Report>;

const probes: Readonly<Record<string, Probe>> = {
  '/livez': () => ({ status: 200, text: 'ok' }),
  '/readyz': async (health) =>
    (await health.isReady()) ? { status: 200, text: 'ok' } : { status: 503, text: 'not ready' },
  '/status': async (health) => {
    const isReady = await health.isReady();
    const lines = [
      `Node ${health.node} is started`,
      `broker is ${isReady ? 'running' : 'not_running'}`,
    ];
    return { status: isReady ? 200 : 503, text: lines.join('\n') };
  },
};

/** False: the request is for somebody else. */
export function answerProbe(
  health: Health,
  request: IncomingMessage,
  response: ServerResponse,
): boolean {
  const path = pathOf(request.url);
  const probe = Object.hasOwn(probes, path) ? probes[path] : undefined;
  if (probe === undefined || (request.method !== 'GET' && request.method !== 'HEAD')) return false;
  void answer(probe, health, response);
  return true;
}

async function answer(probe: Probe, health: Health, response: ServerResponse): Promise<void> {
  const { status, text } = await probe(health);
  response.writeHead(status, {
    'content-type': 'text/plain',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
  });
  response.end(text);
}
