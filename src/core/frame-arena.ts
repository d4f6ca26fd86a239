// Where frames go that must outlive the read buffer they came in: copied one behind another into
// blocks, so that holding a small message costs a memcpy and no allocation. A block lives as long as
// any message in it; what is held for long (the queue of an absent client) moves out by `compact`, to
// memory of its own or to an arena of its client, where neighbours leave one after the other.

const blockBytes = 32 * 1024;
/** Larger frames get memory of their own, so that one of them cannot pin a block of small ones. */
const sharedFrameBytesMax = 4 * 1024;
const noBytes: Buffer = Buffer.alloc(0);

export class FrameArena {
  #block: Buffer = noBytes;
  #used = 0;
  /** Where the last `hold` put its copy. */
  block: Buffer = noBytes;
  at = 0;

  hold(bytes: Buffer, start: number, end: number): void {
    const length = end - start;
    if (length > sharedFrameBytesMax) {
      this.block = Buffer.allocUnsafeSlow(length);
      this.at = 0;
    } else {
      if (this.#used + length > this.#block.length) {
        this.#block = Buffer.allocUnsafeSlow(blockBytes);
        this.#used = 0;
      }
      this.block = this.#block;
      this.at = this.#used;
      this.#used += length;
    }
    bytes.copy(this.block, this.at, start, end);
  }
}
