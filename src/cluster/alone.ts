// The peers of a broker that has none: one worker, one node. Nobody else wants a message, nobody else
// owns a client id.

import type { Peers, Wait } from '#core/ports';

export class Alone implements Peers {
  readonly present: boolean = false;

  interest(): void {}

  forward(): Wait {
    return undefined;
  }

  claim(): Wait {
    return undefined;
  }

  release(): void {}
}
