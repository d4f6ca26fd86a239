// Access rules as texts: what may be written, and how a rule is shown. A file is read whole or not at
// all, and everything that is wrong with its rules is told at once.
// Law (CVE-2018-12550): a file without rules has no rules. It allows nothing and denies nothing; what
// happens where no rule matches is not said here, but by `acl_nomatch`.

import { type AddressRange, parseRange } from '#base/address-range';
import { filterFault, parseFilter } from '#topics/topic';
import type { AccessAction } from '#core/access';
import { AclError, type AclFault, type AclTerm, TermReader } from './acl-terms.ts';

const rulesMax = 1_000_000;
/** Nobody mends more of them before trying again. */
const faultsMax = 20;
const shownCharactersMax = 60;

export interface AclRule {
  readonly isAllowed: boolean;
  readonly who: AclWho;
  readonly actions: readonly AccessAction[];
  /** Undefined for `{allow, all}` and `{deny, all}`: every topic, those that begin with `$` too. */
  readonly topics: readonly AclTopic[] | undefined;
  /** Where it begins, from 1. */
  readonly line: number;
}

export type AclWho =
  | { readonly kind: 'all' }
  | { readonly kind: 'user' | 'client'; readonly name: string }
  /** `text` as it was written, of which `range` is the meaning. */
  | { readonly kind: 'ipaddr'; readonly text: string; readonly range: AddressRange }
  | { readonly kind: 'and' | 'or'; readonly members: readonly AclWho[] };

export interface AclTopic {
  readonly filter: string;
  /** Written `{eq, "filter"}`: means this very text, in which `%c`, `%u` and wildcards are nothing special. */
  readonly isLiteral: boolean;
}

/** Throws an AclError that names all rules at fault; of faults of notation, which hide the rest, one. */
export function parseAcl(text: string): readonly AclRule[] {
  const rules: AclRule[] = [];
  const faults: AclFault[] = [];
  try {
    const reader = new TermReader(text);
    const parser = new RuleParser(reader);
    for (let term = reader.next(); term !== undefined; term = reader.next()) {
      if (rules.length === rulesMax) {
        throw reader.faultAt(term, `found more than ${rulesMax} rules, want at most so many`);
      }
      const rule = parser.tryRule(term, faults);
      if (rule !== undefined) rules.push(rule);
      if (faults.length === faultsMax) break;
    }
  } catch (error) {
    if (!(error instanceof AclError)) throw error;
    faults.push(...error.faults);
  }
  const [first, ...others] = faults;
  if (first !== undefined) throw new AclError(first, others);
  return rules;
}

/** The rule on one line, as it could be written: `{deny, all, subscribe, ["$SYS/#", {eq, "#"}]}.` */
export function describeRule({ isAllowed, who, actions, topics }: AclRule): string {
  const verdict = isAllowed ? 'allow' : 'deny';
  if (topics === undefined) return `{${verdict}, all}.`;
  const action = actions.length === 1 ? actions[0] : 'pubsub';
  const filters = topics.map(({ filter, isLiteral }) =>
    isLiteral ? `{eq, ${quote(filter)}}` : quote(filter),
  );
  return `{${verdict}, ${describeWho(who)}, ${action}, [${filters.join(', ')}]}.`;
}

export function describeWho(who: AclWho): string {
  switch (who.kind) {
    case 'all':
      return 'all';
    case 'user':
    case 'client':
      return `{${who.kind}, ${quote(who.name)}}`;
    case 'ipaddr':
      return `{ipaddr, ${quote(who.text)}}`;
    case 'and':
    case 'or':
      return `{'${who.kind}', [${who.members.map(describeWho).join(', ')}]}`;
  }
}

const both: readonly AccessAction[] = ['publish', 'subscribe'];
const actionsByName = new Map<string, readonly AccessAction[]>([
  ['subscribe', ['subscribe']],
  ['publish', ['publish']],
  ['pubsub', both],
]);
const everybody: AclWho = { kind: 'all' };

const wantedRule = '{allow|deny, all} or {allow|deny, who, subscribe|publish|pubsub, topics}';
const wantedWho =
  'all, {user, "name"}, {client, "id"}, {ipaddr, "address"}, {\'and\', […]} or {\'or\', […]}';

/** From terms to rules. Recursion is bounded by the depth of terms. */
class RuleParser {
  readonly #reader: TermReader;

  constructor(reader: TermReader) {
    this.#reader = reader;
  }

  tryRule(term: AclTerm, faults: AclFault[]): AclRule | undefined {
    try {
      return this.#rule(term);
    } catch (error) {
      if (!(error instanceof AclError)) throw error;
      faults.push(...error.faults);
      return undefined;
    }
  }

  #rule(term: AclTerm): AclRule {
    const items = term.kind === 'tuple' ? term.items : [];
    const [verdict, who, action, topics] = items;
    if (verdict === undefined || who === undefined) throw this.#unexpected(term, wantedRule);
    const isAllowed = isAtom(verdict, 'allow');
    if (!isAllowed && !isAtom(verdict, 'deny')) throw this.#unexpected(verdict, 'allow or deny');
    const { line } = term;
    if (items.length === 2) {
      if (!isAtom(who, 'all')) throw this.#unexpected(who, 'all in a rule of two parts');
      return { isAllowed, who: everybody, actions: both, topics: undefined, line };
    }
    if (action === undefined || topics === undefined || items.length > 4) {
      throw this.#unexpected(term, wantedRule);
    }
    return {
      isAllowed,
      who: this.#who(who),
      actions: this.#actions(action),
      topics: this.#topics(topics),
      line,
    };
  }

  #who(term: AclTerm): AclWho {
    if (isAtom(term, 'all')) return everybody;
    const [kind, value] = term.kind === 'tuple' ? term.items : [];
    if (kind?.kind !== 'atom' || value === undefined || !isPair(term)) {
      throw this.#unexpected(term, wantedWho);
    }
    switch (kind.name) {
      case 'user':
      case 'client':
        if (isAtom(value, 'all')) return everybody;
        return { kind: kind.name, name: this.#text(value, 'a text in quotes, or all') };
      case 'ipaddr':
        return this.#range(value);
      case 'and':
      case 'or':
        if (value.kind !== 'list' || value.items.length === 0) {
          throw this.#unexpected(value, `a list of one or more of ${wantedWho}`);
        }
        return { kind: kind.name, members: value.items.map((item) => this.#who(item)) };
      default:
        throw this.#unexpected(kind, "user, client, ipaddr, 'and' or 'or'");
    }
  }

  #range(term: AclTerm): AclWho {
    const text = this.#text(term, 'an address or a CIDR in quotes');
    const range = parseRange(text);
    if (typeof range === 'string')
      throw this.#reader.faultAt(term, `found ${quoteBriefly(text)}, ${range}`);
    return { kind: 'ipaddr', text, range };
  }

  #actions(term: AclTerm): readonly AccessAction[] {
    const actions = term.kind === 'atom' ? actionsByName.get(term.name) : undefined;
    if (actions === undefined) throw this.#unexpected(term, 'subscribe, publish or pubsub');
    return actions;
  }

  /** An empty list is no list of topics: whoever wrote it means something that would not happen. */
  #topics(term: AclTerm): readonly AclTopic[] {
    if (term.kind !== 'list') return [this.#topic(term)];
    if (term.items.length === 0) throw this.#unexpected(term, 'one or more topic filters');
    return term.items.map((item) => this.#topic(item));
  }

  #topic(term: AclTerm): AclTopic {
    const [eq, inner] = term.kind === 'tuple' ? term.items : [];
    const isLiteral = eq !== undefined && isAtom(eq, 'eq') && isPair(term);
    const written = isLiteral && inner !== undefined ? inner : term;
    const filter = this.#text(written, 'a topic filter in quotes, or {eq, "filter"}');
    const fault = filterFault(filter) ?? sharedFault(filter);
    if (fault !== undefined)
      throw this.#reader.faultAt(written, `found ${quoteBriefly(filter)}: ${fault}`);
    return { filter, isLiteral };
  }

  #text(term: AclTerm, wanted: string): string {
    if (term.kind !== 'text') throw this.#unexpected(term, wanted);
    if (term.value === '') throw this.#reader.faultAt(term, `found an empty text, want ${wanted}`);
    return term.value;
  }

  #unexpected(term: AclTerm, wanted: string): AclError {
    return this.#reader.faultAt(term, `found ${describeTerm(term)}, want ${wanted}`);
  }
}

/** Such an entry would never match, which in a rule that denies is a hole. */
function sharedFault(filter: string): string | undefined {
  const { group, filter: inner } = parseFilter(filter);
  if (group === undefined) return undefined;
  return `a shared subscription is checked by the filter inside it, want ${quoteBriefly(inner)}`;
}

function isAtom(term: AclTerm, name: string): boolean {
  return term.kind === 'atom' && term.name === name;
}

function isPair(term: AclTerm): boolean {
  return term.kind === 'tuple' && term.items.length === 2;
}

function describeTerm(term: AclTerm): string {
  switch (term.kind) {
    case 'atom':
      return /^[a-z]\w{0,40}$/.test(term.name) ? term.name : `atom ${quoteBriefly(term.name)}`;
    case 'text':
      return quoteBriefly(term.value);
    case 'tuple':
    case 'list':
      return term.items.length === 0
        ? `an empty ${term.kind}`
        : `a ${term.kind} of ${term.items.length}`;
  }
}

/** For errors, which are read on one line. */
function quoteBriefly(text: string): string {
  return quote(text.length > shownCharactersMax ? `${text.slice(0, shownCharactersMax)}…` : text);
}

function quote(text: string): string {
  const escaped = text.replaceAll(/["\\]/g, (char) => `\\${char}`);
  const code = (char: string): string => `\\x{${(char.codePointAt(0) ?? 0).toString(16)}}`;
  return `"${escaped.replaceAll(/\p{Cc}/gu, code)}"`;
}
