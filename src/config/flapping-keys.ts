// Clients that come and go too often: what holds for all zones. Which zones watch for them, and when it is
// too often, are keys of the zones.

import { type KeysOf, key } from './key.ts';
import type { FlappingSettings } from './settings.ts';
import { durationMs } from './value-type.ts';

export const flappingKeys: KeysOf<FlappingSettings> = {
  cleanIntervalMs: key('flapping_clean_interval', durationMs(1000), '1h', {
    sample: '1h',
    text: 'How often clients are forgotten that have come and gone, and have not done so again in time.',
  }),
};
