// The gauges of the platform interface, each with the highest value it has had since the start.
// Whoever owns the thing counted moves its gauge; nobody recounts.

export const gaugeNames = [
  'connections',
  'sessions',
  'sessions/persistent',
  'subscriptions',
  'subscriptions/shared',
  'subscribers',
  'topics',
  'routes',
  'retained',
] as const;
export type GaugeName = (typeof gaugeNames)[number];

export class Stats {
  readonly #count = new Map<GaugeName, number>(gaugeNames.map((name) => [name, 0]));
  readonly #max = new Map<GaugeName, number>(gaugeNames.map((name) => [name, 0]));

  move(name: GaugeName, by: number): void {
    this.set(name, this.count(name) + by);
  }

  set(name: GaugeName, count: number): void {
    this.#count.set(name, count);
    if (count > this.max(name)) this.#max.set(name, count);
  }

  count(name: GaugeName): number {
    return this.#count.get(name) ?? 0;
  }

  max(name: GaugeName): number {
    return this.#max.get(name) ?? 0;
  }

  /** `connections/count`, `connections/max`, … */
  snapshot(): Record<string, number> {
    return Object.fromEntries(
      gaugeNames.flatMap((name) => [
        [`${name}/count`, this.count(name)],
        [`${name}/max`, this.max(name)],
      ]),
    );
  }
}
