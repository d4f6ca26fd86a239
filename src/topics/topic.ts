// Topic names and topic filters as texts: which ones are allowed, what a `$share/` or `$queue/`
// prefix says, and how a mountpoint is put in front. Nothing here normalises, trims or folds a
// character [MQTT-4.7.3-4]: two texts are the same topic only when they are the same text.

const bytesMax = 65535;
const sharePrefix = '$share/';
const queuePrefix = '$queue/';
const hash = 0x23;
const dollar = 0x24;
const plus = 0x2b;
const slash = 0x2f;

/** Why nobody may publish to this text, worded to follow a colon; undefined when it is fine. */
export function topicNameFault(topic: string): string | undefined {
  if (topic.includes('+')) return 'wildcard "+" is not allowed in a topic name'; // [MQTT-4.7.0-1]
  if (topic.includes('#')) return 'wildcard "#" is not allowed in a topic name'; // [MQTT-4.7.0-1]
  return textFault(topic);
}

/** Why nobody may subscribe to this text, worded to follow a colon; undefined when it is fine. */
export function filterFault(filter: string): string | undefined {
  return textFault(filter) ?? sharedFault(filter) ?? wildcardFault(filter, innerStart(filter));
}

export interface ParsedFilter {
  /** The share name; `$queue` for `$queue/…`, which `$share/$queue/…` names as well. */
  readonly group: string | undefined;
  /** What topics are matched against, without the prefix of a shared subscription. */
  readonly filter: string;
}

/** Splits a filter that has no fault. */
export function parseFilter(filter: string): ParsedFilter {
  const start = innerStart(filter);
  if (start === 0) return { group: undefined, filter };
  const isQueue = filter.startsWith(queuePrefix);
  const group = isQueue ? '$queue' : filter.slice(sharePrefix.length, start - 1);
  return { group, filter: filter.slice(start) };
}

/** The one text for filters that mean the same: `$share/$queue/t` is `$queue/t`. */
export function canonicalFilter(filter: string): string {
  const alias = `${sharePrefix}${queuePrefix}`;
  return filter.startsWith(alias) ? filter.slice(sharePrefix.length) : filter;
}

/** Levels of a name or filter: one more than its slashes. Allocates nothing. */
export function levelCount(topic: string): number {
  let count = 1;
  for (let at = topic.indexOf('/'); at >= 0; at = topic.indexOf('/', at + 1)) count++;
  return count;
}

/** For filters without a fault, where `+` and `#` are nothing but wildcards. */
export function hasWildcard(filter: string): boolean {
  return filter.includes('+') || filter.includes('#');
}

/** Topics that begin with `$` belong to the broker; a leading wildcard does not reach them. */
export function isSystem(topic: string): boolean {
  return topic.charCodeAt(0) === dollar;
}

/**
 * The prefix that a client lives under: `%c` and `%u` are replaced where they are a whole level; a
 * client without username keeps the literal `%u`. The result ends in `/`, else the clients "a" and
 * "ab" would meet at "abc". Undefined: the connection must be refused, because its client id or
 * username would be a wildcard, several levels, or the `$` that makes a prefix special.
 */
export function mountpointFor(
  template: string,
  clientId: string,
  username: string | undefined,
): string | undefined {
  if (template === '') return '';
  const levels = template.split('/');
  for (const [i, level] of levels.entries()) {
    const value = level === '%c' ? clientId : level === '%u' ? (username ?? level) : level;
    if (value.includes('/')) return undefined;
    levels[i] = value;
  }
  if (levels.at(-1) !== '' || levels.length === 1) levels.push('');
  const prefix = levels.join('/');
  if (isSystem(prefix) && !isSystem(template)) return undefined;
  return topicNameFault(prefix) === undefined ? prefix : undefined;
}

/** A shared subscription stays shared: the prefix goes in front of the filter inside it. */
export function mount(prefix: string, topicOrFilter: string): string {
  const start = innerStart(topicOrFilter);
  if (start === 0) return prefix + topicOrFilter;
  return topicOrFilter.slice(0, start) + prefix + topicOrFilter.slice(start);
}

/** Undoes `mount`. A topic that is not under the prefix is returned as it is. */
export function unmount(prefix: string, topicOrFilter: string): string {
  const start = innerStart(topicOrFilter);
  if (!topicOrFilter.startsWith(prefix, start)) return topicOrFilter;
  return topicOrFilter.slice(0, start) + topicOrFilter.slice(start + prefix.length);
}

/** What names and filters have in common. */
function textFault(text: string): string | undefined {
  if (text === '') return 'it is empty, at least one character is wanted'; // [MQTT-4.7.3-1]
  if (text.includes('\0')) return 'U+0000 is not allowed'; // [MQTT-4.7.3-2]
  // A UTF-16 unit is at most three bytes of UTF-8, so short texts need no counting.
  if (text.length * 3 <= bytesMax) return undefined;
  const bytes = Buffer.byteLength(text);
  if (bytes <= bytesMax) return undefined;
  return `${bytes} bytes are too long, the limit is ${bytesMax}`; // [MQTT-4.7.3-3]
}

function sharedFault(filter: string): string | undefined {
  const isShare = filter.startsWith(sharePrefix);
  if (!isShare && !filter.startsWith(queuePrefix)) return undefined;
  const start = innerStart(filter);
  if (isShare) {
    const group = filter.slice(sharePrefix.length, start === 0 ? undefined : start - 1);
    if (group === '') return 'the share name is empty'; // [MQTT-4.8.2-1]
    if (hasWildcard(group)) return 'a wildcard is not allowed in the share name'; // [MQTT-4.8.2-2]
  }
  // [MQTT-4.8.2-2]
  if (start === 0 || start === filter.length) return 'a filter is wanted after the shared prefix';
  if (filter.startsWith(sharePrefix, start) || filter.startsWith(queuePrefix, start)) {
    return 'a shared subscription is not allowed inside another';
  }
  return undefined;
}

/** Where the filter of a shared subscription begins; 0 for a plain filter or topic. */
function innerStart(filter: string): number {
  if (!isSystem(filter)) return 0;
  if (filter.startsWith(queuePrefix)) return queuePrefix.length;
  if (filter.startsWith(sharePrefix)) return filter.indexOf('/', sharePrefix.length) + 1;
  return 0;
}

function wildcardFault(filter: string, start: number): string | undefined {
  for (let i = start; i < filter.length; i++) {
    const char = filter.charCodeAt(i);
    if (char !== plus && char !== hash) continue;
    const beginsLevel = i === start || filter.charCodeAt(i - 1) === slash;
    const isLast = i + 1 === filter.length;
    if (char === hash && !(beginsLevel && isLast)) {
      return 'wildcard "#" is allowed only as the whole last level'; // [MQTT-4.7.1-1]
    }
    if (char === plus && !(beginsLevel && (isLast || filter.charCodeAt(i + 1) === slash))) {
      return 'wildcard "+" is allowed only as a whole level'; // [MQTT-4.7.1-2]
    }
  }
  return undefined;
}
