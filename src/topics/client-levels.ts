// `%c` and `%u` in filters of access control: client id and username, where they are a whole level. Law
// (CVE-2017-7650): what is put in is plain text of one level; a client whose id or name is a wildcard, or several
// levels, or would reach the topics of the broker, matches no filter that holds it.

import { hasWildcard } from './topic.ts';

export interface NamedClient {
  readonly clientId: string;
  readonly username?: string | undefined;
}

export function isClientLevel(level: string): boolean {
  return level === '%c' || level === '%u';
}

/** Undefined: this client has nothing to put in, or nothing that may be put in. */
export function fillLevels(
  template: readonly string[],
  { clientId, username }: NamedClient,
): string | undefined {
  const levels: string[] = [];
  for (const level of template) {
    if (!isClientLevel(level)) {
      levels.push(level);
      continue;
    }
    const value = level === '%c' ? clientId : username;
    if (value === undefined || hasWildcard(value) || value.includes('/')) return undefined;
    if (levels.length === 0 && value.startsWith('$')) return undefined;
    levels.push(value);
  }
  return levels.join('/');
}
