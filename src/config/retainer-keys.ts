// retainer.*: bounds of the retained messages. They have a file of their own beside the main one.

import { type KeysOf, key } from './key.ts';
import type { RetainerSettings } from './settings.ts';
import { byteSize, durationSeconds, int } from './value-type.ts';

export const retainerKeys: KeysOf<RetainerSettings> = {
  maxRetainedMessages: key('retainer.max_retained_messages', int(0), '0', {
    shipped: '0',
    text: 'Most topics with a retained message; a message for one more is routed but not kept. 0: no limit.',
  }),
  maxPayloadBytes: key('retainer.max_payload_size', byteSize(0, 256 * 1024 ** 2), '1MB', {
    shipped: '1MB',
    text: 'Largest payload that is kept; a message with a larger one is routed but not kept.',
  }),
  expirySeconds: key('retainer.expiry_interval', durationSeconds(0, 4_294_967_295), '0', {
    shipped: '0',
    text: 'How long a retained message is kept that does not bring an expiry of its own. 0: for ever.',
  }),
};
