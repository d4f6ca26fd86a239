// What a push gateway is sent: what Prometheus would read from the node, and behind it the names under which
// the platform has always pushed, for the dashboards that know those. A family stands once in a text, so
// where both names are the same the first one holds.

type Values = Readonly<Record<string, number>>;

export interface PushFigures {
  /** As Prometheus reads them. */
  readonly scraped: string;
  readonly metrics: Values;
  readonly stats: Values;
}

/** Those that the platform pushed of its statistics. */
const gauges = ['connections', 'retained', 'routes', 'sessions', 'subscriptions', 'topics'];
/** One that goes up and down among those that count. */
const levels: ReadonlySet<string> = new Set(['messages/retained']);

export function pushText({ scraped, metrics, stats }: PushFigures): string {
  const taken = new Set([...scraped.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name));
  const counted = Object.entries(metrics)
    .filter(([key]) => /^(?:packets|bytes|messages)\//.test(key))
    .map(([key, value]) => family(key, value, levels.has(key) ? 'gauge' : 'counter'));
  const levelled = gauges.flatMap((key) =>
    [`${key}/count`, `${key}/max`].map((name) => family(name, stats[name] ?? 0, 'gauge')),
  );
  const classic = [...counted, ...levelled].filter(({ name }) => !taken.has(name));
  return scraped + classic.map(({ lines }) => lines).join('');
}

function family(key: string, value: number, type: string): { name: string; lines: string } {
  const name = `broker_${key.replaceAll(/[^a-z0-9]+/g, '_')}`;
  return { name, lines: `# TYPE ${name} ${type}\n${name} ${value}\n` };
}

/** `<server>/metrics/job/<name>/instance/<name>~<host>`, of a node `<name>@<host>`. */
export function pushAddress(gateway: string, nodeName: string): string {
  const at = nodeName.indexOf('@');
  const name = at < 0 ? nodeName : nodeName.slice(0, at);
  const instance = at < 0 ? name : `${name}~${nodeName.slice(at + 1)}`;
  return `${gateway}/metrics/job/${encodeURIComponent(name)}/instance/${encodeURIComponent(instance)}`;
}
