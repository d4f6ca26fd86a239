// Where a stored session is taken up when a node starts, and the will of a client that has none: by
// its client id, so that both are at one place, and by nothing else, so that it is the only one.

import { textHash } from '#base/text-hash';

export function homeOf(clientId: string, workers: number): number {
  return textHash(clientId) % workers;
}
