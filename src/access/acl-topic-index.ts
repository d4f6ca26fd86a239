// The topics of access rules, and which rule is the first that names one for one of several groups of
// clients. Law (CVE-2017-7650): `%c` and `%u` stand for one level of plain text. A client whose id or
// name would be a wildcard, several levels or a `$` at the beginning matches no topic that holds it.
// Cost of a question: a walk down the trie, and for each filter that matches a lookup for each group
// that the client belongs to, or that the filter is for if these are fewer. The number of rules is not in it.

import { FilterTrie } from '#topics/filter-trie';
import { matches } from '#topics/match';
import { fillLevels, isClientLevel } from '#topics/client-levels';
import type { AclTopic } from './acl-file.ts';
import type { AclClient } from './acl-who-index.ts';

/** Who → the first rule that names a topic for them. */
type Firsts = Map<number, number>;

interface Pattern {
  readonly filter: string;
  /** The levels of a filter that has placeholders among them. */
  readonly template: readonly string[] | undefined;
  readonly firsts: Firsts;
}

/**
 *   a/b     for all in rule 4                         trie    a/b → [ a/b: { all: 4 } ]
 *   d/+/x   for all in rule 7                                 d/+/x → [ d/+/x: { all: 7 },
 *   d/%c/x  for ann in rule 2, for all in rule 9                        d/%c/x: { ann: 2, all: 9 } ]
 *   {eq, #} for all in rule 3                         literals  # → { all: 3 }
 *
 * A placeholder is filed as `+`, so the trie finds all that may match, and nothing under `$` for one that
 * stands at the beginning. `matches` has the last word, also on filters given as topics, where `+`
 * does not cover `#`.
 */
export class TopicIndex {
  readonly #patterns = new FilterTrie<Pattern[]>();
  readonly #literals = new Map<string, Firsts>();

  /** Rules come in their order: of two that say the same of the same clients the first one counts. */
  add({ filter, isLiteral }: AclTopic, who: number, rule: number): void {
    const firsts = isLiteral ? this.#literalFor(filter) : this.#patternFor(filter).firsts;
    if (!firsts.has(who)) firsts.set(who, rule);
  }

  /** The first rule that names the topic for any of `whos`; undefined: none does. */
  first(topic: string, whos: ReadonlySet<number>, client: AclClient): number | undefined {
    let first = firstOf(this.#literals.get(topic), whos, Number.POSITIVE_INFINITY);
    this.#patterns.match(topic, (patterns) => {
      for (const pattern of patterns) {
        const rule = firstOf(pattern.firsts, whos, first);
        if (rule < first && isMatch(pattern, topic, client)) first = rule;
      }
    });
    return first === Number.POSITIVE_INFINITY ? undefined : first;
  }

  #literalFor(text: string): Firsts {
    let firsts = this.#literals.get(text);
    if (firsts === undefined) {
      firsts = new Map();
      this.#literals.set(text, firsts);
    }
    return firsts;
  }

  #patternFor(filter: string): Pattern {
    const levels = filter.split('/');
    const hasPlaceholder = levels.some(isClientLevel);
    const key = hasPlaceholder
      ? levels.map((level) => (isClientLevel(level) ? '+' : level)).join('/')
      : filter;
    let patterns = this.#patterns.get(key);
    if (patterns === undefined) {
      patterns = [];
      this.#patterns.set(key, patterns);
    }
    let pattern = patterns.find((one) => one.filter === filter);
    if (pattern === undefined) {
      pattern = { filter, template: hasPlaceholder ? levels : undefined, firsts: new Map() };
      patterns.push(pattern);
    }
    return pattern;
  }
}

/** The first rule before `limit` that is for any of `whos`, else `limit`. Walks the shorter of both. */
function firstOf(firsts: Firsts | undefined, whos: ReadonlySet<number>, limit: number): number {
  if (firsts === undefined) return limit;
  if (firsts.size <= whos.size) {
    for (const [who, rule] of firsts) {
      if (rule >= limit) break; // rules were added in their order
      if (whos.has(who)) return rule;
    }
    return limit;
  }
  let first = limit;
  for (const who of whos) first = Math.min(first, firsts.get(who) ?? limit);
  return first;
}

function isMatch({ filter, template }: Pattern, topic: string, client: AclClient): boolean {
  const filled = template === undefined ? filter : fillLevels(template, client);
  return filled !== undefined && matches(filled, topic);
}
