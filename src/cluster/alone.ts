// The peers of a broker that has none: one worker, one node. Nobody else wants a message, nobody else
// owns a client id.

import type { Peers } from '#core/peers-port';
import type { Wait } from '#core/ports';

export class Alone implements Peers {
  readonly isAlone: boolean = true;

  interest(): Wait {
    return undefined;
  }

  member(): Wait {
    return undefined;
  }

  left(): void {}

  retainedTold(): void {}

  retainedFlushed(): Wait {
    return undefined;
  }

  claim(): Wait {
    return undefined;
  }

  owns(): boolean {
    return true;
  }

  attempted(): void {}

  release(): void {}
}
