// How often something happens, from a counter that is looked at every 10 seconds: lately, at most, and over
// five minutes.

/** Samples of five minutes. */
const samplesMax = 30;
export const sampleMs = 10_000;

export class Rate {
  readonly #samples: number[] = [];
  #count: number;
  #atMs: number;
  #speed = 0;
  #max = 0;

  constructor(count: number, nowMs: number) {
    this.#count = count;
    this.#atMs = nowMs;
  }

  sample(count: number, nowMs: number): void {
    const seconds = (nowMs - this.#atMs) / 1000;
    if (seconds <= 0) return;
    this.#speed = (count - this.#count) / seconds;
    this.#max = Math.max(this.#max, this.#speed);
    this.#samples.push(this.#speed);
    if (this.#samples.length > samplesMax) this.#samples.shift();
    this.#count = count;
    this.#atMs = nowMs;
  }

  /** Per second. */
  get speed(): number {
    return twoDecimals(this.#speed);
  }

  get speedMax(): number {
    return twoDecimals(this.#max);
  }

  get speedLast5m(): number {
    const { length } = this.#samples;
    const sum = this.#samples.reduce((total, speed) => total + speed, 0);
    return length === 0 ? 0 : twoDecimals(sum / length);
  }
}

function twoDecimals(value: number): number {
  return Math.round(value * 100) / 100;
}
