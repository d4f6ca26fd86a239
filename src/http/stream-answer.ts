// An answer that is not an envelope: what an operation yields, piece by piece, no faster than the client
// reads and no longer than it is there.

import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

export async function streamAnswer(
  response: ServerResponse,
  contentType: string,
  pieces: unknown,
  onFault: (error: unknown) => void,
): Promise<void> {
  response.writeHead(200, { 'content-type': contentType, 'cache-control': 'no-store' });
  // Whoever listens for events hears that there will be some.
  response.flushHeaders();
  if (response.req.method === 'HEAD') {
    response.end();
    return;
  }
  try {
    const source = pieces as AsyncIterable<string | Buffer>;
    await pipeline(Readable.from(source, { objectMode: false }), response);
  } catch (error) {
    response.destroy();
    const { code } = error as NodeJS.ErrnoException;
    const hasLeft = code === 'ERR_STREAM_PREMATURE_CLOSE' || code === 'ABORT_ERR';
    if (!hasLeft) onFault(error);
  }
}
