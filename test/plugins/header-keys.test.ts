// Headers of requests to other servers, which the plugins that ask some have in common.

import assert from 'node:assert/strict';
import test from 'node:test';
import { startManaged } from '#test/managed';

test('headers that the request itself decides cannot be set', async () => {
  for (const word of ['auth.http.header', 'web.hook.headers']) {
    await assert.rejects(
      startManaged({ settings: { [`${word}.host`]: 'elsewhere' } }),
      /Cannot set header host: the request itself decides it, expected another header/,
      word,
    );
  }
});
