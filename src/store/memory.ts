// The store that forgets with the process: what it is told, the core holds in memory anyway, so there
// is nothing to write and nothing to wait for.

import type { Store, Wait } from '#core/ports';

export class MemoryStore implements Store {
  retain(): Wait {
    return undefined;
  }

  forgetRetained(): Wait {
    return undefined;
  }

  subscribed(): Wait {
    return undefined;
  }

  unsubscribed(): Wait {
    return undefined;
  }

  queued(): Wait {
    return undefined;
  }
}
