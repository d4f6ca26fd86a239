// How many a plugin has of what it declares, now and at most since it was started.

export interface GaugeCount {
  readonly count: number;
  readonly max: number;
}

export class PluginGauges {
  readonly #counts: Map<string, GaugeCount>;

  constructor(names: readonly string[]) {
    this.#counts = new Map(names.map((name) => [name, { count: 0, max: 0 }]));
  }

  set(name: string, count: number): void {
    const before = this.#counts.get(name);
    if (before === undefined) {
      throw new TypeError(`Cannot set "${name}": it is not among the plugin's gauges`);
    }
    this.#counts.set(name, { count, max: Math.max(count, before.max) });
  }

  entries(): readonly (readonly [name: string, counts: GaugeCount])[] {
    return [...this.#counts];
  }
}
