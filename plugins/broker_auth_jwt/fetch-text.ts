// One GET with bounds: its time, its size, one answer. Law: a redirect is not followed, because it would
// let whoever answers say who is believed.

import { get as getHttp, type IncomingMessage } from 'node:http';
import { get as getHttps } from 'node:https';

export interface FetchOptions {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  readonly bytesMax: number;
  /** PEM of those who may vouch for the server; undefined: the well-known ones. */
  readonly ca: string | undefined;
}

/** The text of an answer with status 200. Throws words that follow a colon. */
export async function fetchText(address: string, options: FetchOptions): Promise<string> {
  const { ca, timeoutMs, bytesMax } = options;
  const late = AbortSignal.timeout(timeoutMs);
  const signal = AbortSignal.any([options.signal, late]);
  const headers = { accept: 'application/jwk-set+json, application/json' };
  const url = new URL(address);
  const plain = { signal, headers, agent: false } as const;
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const asked =
        url.protocol === 'https:'
          ? getHttps(url, { ...plain, ...(ca !== undefined && { ca }) })
          : getHttp(url, plain);
      asked.on('response', resolve);
      asked.on('error', reject);
    });
    return await bodyOf(response, bytesMax);
  } catch (error) {
    if (!late.aborted) throw error;
    throw new Error(`found no answer within ${timeoutMs} ms`, { cause: error });
  }
}

async function bodyOf(response: IncomingMessage, bytesMax: number): Promise<string> {
  const { statusCode = 0 } = response;
  try {
    if (statusCode !== 200) throw new Error(`found status ${statusCode}, want 200`);
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of response as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > bytesMax) throw new Error(`found more than ${bytesMax} bytes`);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks).toString();
  } finally {
    response.destroy();
  }
}
