// What is wrong inside the lines of the modules, told when the broker starts and not when a client comes:
// filters that are none, expressions that cannot be used, destinations that no topic can be.

import { LinearRegex } from '#base/linear-regex';
import { RegexFault } from '#base/regex-syntax';
import type { ConfigProblem } from './config-error.ts';
import { fillPattern, type Key } from './key.ts';
import { rewriteKeys, subscriptionKeys } from './module-keys.ts';
import type { RewriteRule } from './settings.ts';
import type { Values } from './values.ts';

/** `attempted`: keys that had a line, also a refused one, so that one slip is told only once. */
export function findModuleFaults(values: Values, attempted: ReadonlySet<string>): ConfigProblem[] {
  const problem = (key: Key<unknown>, names: readonly string[], text: string): ConfigProblem => {
    const written = fillPattern(key.pattern, names);
    return { where: values.where(written), key: written, text: `Cannot use ${written}: ${text}` };
  };
  const { topic, qos } = subscriptionKeys;
  return [
    ...values.ofPattern(qos).flatMap(({ names }) => {
      const wanted = fillPattern(topic.pattern, names);
      if (attempted.has(wanted)) return [];
      return [problem(qos, names, `it has no topic, expected a line ${wanted} = <filter>`)];
    }),
    ...values.ofPattern(topic).flatMap(({ names, value }) => {
      const fault = subscriptionFault(value as string);
      return fault === undefined ? [] : [problem(topic, names, fault)];
    }),
    ...values.ofPattern(rewriteKeys.rule).flatMap(({ names, value }) => {
      const fault = ruleFault(value as Omit<RewriteRule, 'number'>);
      return fault === undefined ? [] : [problem(rewriteKeys.rule, names, fault)];
    }),
  ];
}

function subscriptionFault(topic: string): string | undefined {
  const shared = /^(?:\$queue\/|\$share\/(?<group>[^/]*)(?:\/|$))(?<inner>.*)$/s.exec(
    topic,
  )?.groups;
  if (shared === undefined) return wildcardFault(topic);
  const { group = 'queue', inner = '' } = shared;
  if (/^$|[+#]/.test(group)) return `found the share name "${group}", expected one without + and #`;
  if (inner === '') return 'found no filter behind the share name';
  return /^\$(share|queue)\//.test(inner)
    ? 'a shared subscription is not allowed inside another'
    : wildcardFault(inner);
}

function ruleFault({ filter, regex, dest }: Omit<RewriteRule, 'number'>): string | undefined {
  if (isReserved(filter)) return `filter "${filter}": names that begin so are not rewritten`;
  const fault = wildcardFault(filter);
  if (fault !== undefined) return `filter "${filter}": ${fault}`;
  let groups: number;
  try {
    ({ groups } = new LinearRegex(regex));
  } catch (error) {
    if (!(error instanceof RegexFault)) throw error;
    return `regular expression "${regex}": ${error.message}`;
  }
  if (isReserved(dest)) return `destination "${dest}": no name may begin so`;
  if (/[+#]/.test(dest)) return `destination "${dest}": wildcards are not allowed in it`;
  const missing = dest.match(/\$\d+/g)?.find((one) => {
    const index = Number(one.slice(1));
    return index === 0 || index > groups;
  });
  if (missing === undefined) return undefined;
  return `destination "${dest}": found ${missing}, the expression has ${groups} groups`;
}

/** What the broker itself, or shared subscriptions, are known by. */
function isReserved(name: string): boolean {
  return /^\$(SYS|share|queue)(\/|$)/.test(name);
}

function wildcardFault(filter: string): string | undefined {
  const levels = filter.split('/');
  const bad = levels.find((level, i) => {
    if (level === '#') return i < levels.length - 1;
    return level !== '+' && /[+#]/.test(level);
  });
  if (bad === undefined) return undefined;
  return `found level "${bad}", expected + as a whole level and # as the whole last one`;
}
