// The topics that a token gives to its bearer. Laws: a list that cannot be read is refused with its token,
// it is never as if there were none; `%c` and `%u` stand for one level of plain text, so that a client
// whose id or name is a wildcard or several levels matches no filter that holds it (CVE-2017-7650).

import { type ClientInfo, fillLevels, filterFault, matches } from '#sdk';

export interface TopicGrant {
  readonly pub: readonly string[];
  readonly sub: readonly string[];
}

const fields = ['pub', 'sub', 'all'] as const;

/** Throws words that follow a colon. */
export function readGrant(claim: unknown): TopicGrant {
  if (typeof claim !== 'object' || claim === null || Array.isArray(claim)) {
    throw new Error('want an object with pub, sub or all');
  }
  const given = claim as Readonly<Record<string, unknown>>;
  const unknown = Object.keys(given).find((name) => !fields.some((field) => field === name));
  if (unknown !== undefined) throw new Error(`found "${unknown}", want pub, sub or all`);
  const [pub, sub, all] = fields.map((field) => readFilters(field, given[field]));
  return { pub: [...(pub ?? []), ...(all ?? [])], sub: [...(sub ?? []), ...(all ?? [])] };
}

function readFilters(field: string, value: unknown): readonly string[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw new Error(`want "${field}" to be a list of filters`);
  return value.map((filter: unknown) => {
    if (typeof filter !== 'string') throw new Error(`want "${field}" to hold texts only`);
    const fault = filterFault(filter);
    if (fault !== undefined) throw new Error(`cannot use "${filter}" of "${field}": ${fault}`);
    return filter;
  });
}

/** `topic` is the filter where the action is to subscribe. */
export function isGranted(
  grant: TopicGrant,
  client: Pick<ClientInfo, 'clientId' | 'username'>,
  action: 'publish' | 'subscribe',
  topic: string,
): boolean {
  const filters = action === 'publish' ? grant.pub : grant.sub;
  return filters.some((filter) => {
    const filled = filter.includes('%') ? fillLevels(filter.split('/'), client) : filter;
    return filled !== undefined && matches(filled, topic);
  });
}
