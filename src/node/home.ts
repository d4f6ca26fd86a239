// Where a stored session is taken up when a node starts, and the will of a client that has none: by
// its client id, so that both are at one place, and by nothing else, so that it is the only one.

export function homeOf(clientId: string, workers: number): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < clientId.length; i++) {
    hash = Math.imul(hash ^ clientId.charCodeAt(i), 0x01000193);
  }
  return (hash >>> 0) % workers;
}
