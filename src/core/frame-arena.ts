// Where frames go that must outlive the read buffer they came in: copied one behind another into
// blocks, so that holding a small message costs a memcpy and no allocation. A block lives as long as
// any message in it; what is held for long (the queue of an absent client) moves out by `compact`.

const blockBytes = 32 * 1024;
/** Larger frames get memory of their own, so that one of them cannot pin a block of small ones. */
const sharedFrameBytesMax = 4 * 1024;

export class FrameArena {
  #block: Buffer = Buffer.allocUnsafeSlow(blockBytes);
  #used = 0;
  /** Where the last `hold` put its copy. */
  block: Buffer = this.#block;
  at = 0;

  hold(bytes: Buffer, start: number, end: number): void {
    const length = end - start;
    if (length > sharedFrameBytesMax) {
      this.block = Buffer.allocUnsafeSlow(length);
      this.at = 0;
    } else {
      if (this.#used + length > blockBytes) {
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
