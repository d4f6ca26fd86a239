// The keys in each worker. The lookup runs inside OpenSSL's handshake and cannot wait.

import type { WorkerPart } from '#sdk';
import type { PskSettings } from './config.ts';

const part: WorkerPart<PskSettings> = (context) => {
  let secrets: ReadonlyMap<string, string> = new Map();
  context.onShared((shared) => {
    secrets = shared as ReadonlyMap<string, string>;
  });
  context.hooks.on('tls_handshake.psk_lookup', (identity) => {
    const secret = secrets.get(identity);
    context.count(secret === undefined ? 'auth.psk_file.ignore' : 'auth.psk_file.success');
    return secret === undefined ? 'ignore' : Buffer.from(secret, 'latin1');
  });
};

export default part;
