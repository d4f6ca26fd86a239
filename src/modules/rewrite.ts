// Topics that become others by rules (module.rewrite): of everything that is published, and of the filters
// that clients subscribe to and unsubscribe from, after access control has had its say. Rules speak of
// topics as the broker knows them, with mountpoint, so that one rule holds for a publish, a will and a
// subscription alike. Law: no rule leads to a name that is none, to one of the broker's own, or, by what
// a client wrote, to one that begins with `$`.

import { LinearRegex } from '#base/linear-regex';
import { matches } from '#topics/match';
import { filterFault, isSystem, parseFilter, topicNameFault } from '#topics/topic';
import type { RewriteRule } from '#config/settings';
import type { Core } from '#core/context';

const owner = 'rewrite';
/** Before whoever wants to know where a message goes. */
const priority = 1000;

export function rewriteTopics(core: Core, rules: readonly RewriteRule[]): void {
  if (rules.length === 0) return;
  const { hooks, log } = core;
  const told = new Set<number>();
  const rewriter = new Rewriter(rules, (rule, topic, why) => {
    // Once: whoever publishes it will publish it again.
    if (told.has(rule)) return;
    told.add(rule);
    log.warn('rewrite.refused', { rule, topic, why });
  });
  hooks.on(
    'message.publish',
    owner,
    ({ topic }) => {
      const rewritten = rewriter.topicOf(topic);
      return rewritten === topic ? undefined : { topic: rewritten };
    },
    priority,
  );
  hooks.on(
    'client.subscribe',
    owner,
    ({ mountpoint }, wanted) =>
      wanted.map((one) => ({ ...one, filter: rewriter.filterOf(one.filter, mountpoint) })),
    priority,
  );
  hooks.on(
    'client.unsubscribe',
    owner,
    ({ mountpoint }, filters) => filters.map((one) => rewriter.filterOf(one, mountpoint)),
    priority,
  );
}

/** Told that what a rule made of a topic cannot be used. */
type Refused = (rule: number, topic: string, why: string) => void;

interface Rule {
  readonly number: number;
  readonly filter: string;
  readonly regex: LinearRegex;
  readonly dest: string;
  /** The destination itself says that the name begins with `$`. */
  readonly isSystem: boolean;
}

/** Topics of devices come again and again; those of strangers must not fill the memory. */
const rememberedMax = 4096;
const rememberedLength = 256;

export class Rewriter {
  readonly #rules: readonly Rule[];
  readonly #refused: Refused;
  readonly #remembered = new Map<string, string>();

  constructor(rules: readonly RewriteRule[], refused: Refused = () => {}) {
    this.#refused = refused;
    this.#rules = rules.map(({ number, filter, regex, dest }) => {
      return { number, filter, regex: new LinearRegex(regex), dest, isSystem: /^\$\D/.test(dest) };
    });
  }

  /** What a topic becomes; itself where no rule holds. With mountpoint, both of them. */
  topicOf(topic: string): string {
    const remembered = this.#remembered.get(topic);
    if (remembered !== undefined) return remembered;
    const rewritten = this.#apply(topic, topicNameFault) ?? topic;
    if (topic.length <= rememberedLength) this.#remember(topic, rewritten);
    return rewritten;
  }

  #remember(topic: string, rewritten: string): void {
    if (this.#remembered.size >= rememberedMax) this.#remembered.clear();
    this.#remembered.set(topic, rewritten);
  }

  /** The same for a filter as the client wrote it: the prefix of a shared subscription stays around it. */
  filterOf(filter: string, mountpoint: string): string {
    if (filterFault(filter) !== undefined) return filter;
    const { filter: inner } = parseFilter(filter);
    const prefix = filter.slice(0, filter.length - inner.length);
    const rewritten = this.#apply(mountpoint + inner, (made) => {
      if (!made.startsWith(mountpoint)) return `it is not under the mountpoint "${mountpoint}"`;
      return filterFault(prefix + made.slice(mountpoint.length));
    });
    return rewritten === undefined ? filter : prefix + rewritten.slice(mountpoint.length);
  }

  /** Undefined: the name stays. */
  #apply(name: string, faultOf: (made: string) => string | undefined): string | undefined {
    const rule = this.#rules.find(({ filter }) => matches(filter, name));
    const groups = rule?.regex.exec(name);
    if (rule === undefined || groups === undefined) return undefined;
    const made = rule.dest.replaceAll(
      /\$(\d+)/g,
      (_, index: string) => groups[Number(index)] ?? '',
    );
    const fault = reservedFault(made, rule) ?? faultOf(made);
    if (fault === undefined) return made;
    this.#refused(rule.number, name, fault);
    return undefined;
  }
}

/** `x/$SYS/#` must not become `$SYS/#`: nobody has been asked whether this client may. */
function reservedFault(made: string, rule: Rule): string | undefined {
  if (!isSystem(made)) return undefined;
  if (!rule.isSystem) return 'it begins with "$", and the destination does not';
  return /^\$(SYS|share|queue)(\/|$)/.test(made) ? 'it is a name of the broker' : undefined;
}
