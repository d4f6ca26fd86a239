// Which of many descriptions of clients hold for one client, without looking at them all.
// Law: a description is filed under names such that whoever it holds for has one of them; `all` is 0
// and filed nowhere.

import { addressBits, isInRange, rangeKey } from '#base/address-range';
import type { ClientInfo } from '#hooks/table';
import { type AclWho, describeWho } from './acl-file.ts';
import { RangeMap } from './range-map.ts';

export type AclClient = Pick<ClientInfo, 'clientId' | 'username' | 'address'>;

/** The number of `all`. */
const everybody = 0;
const onlyEverybody: ReadonlySet<number> = new Set([everybody]);

/** What a description is filed under. */
type Leaf = Extract<AclWho, { kind: 'user' | 'client' | 'ipaddr' }>;

interface Subject {
  readonly clientId: string;
  readonly username: string | undefined;
  readonly addressBits: bigint | undefined;
}

/**
 *   1  {user, "ann"}                                       users     ann → [1, 3]
 *   2  {ipaddr, "10.0.0.0/8"}                              ranges    10.0.0.0/8 → [2]
 *   3  {'and', [{user, "ann"}, {ipaddr, "10.0.0.0/8"}]}    is filed under its rarest member
 *
 * Cost for a client: three lookups, that of ranges one for each length of prefix in use, and a check of
 * what is filed there.
 */
export class WhoIndex {
  /** By number; those that mean the same have one. */
  readonly #whos: AclWho[] = [{ kind: 'all' }];
  readonly #numbers = new Map<string, number>([['all', everybody]]);
  readonly #users = new Map<string, number[]>();
  readonly #clients = new Map<string, number[]>();
  readonly #ranges = new RangeMap<number[]>();
  readonly #rangeLists = new Map<string, number[]>();

  /** The number of a description, which is filed if it is new. */
  numberOf(described: AclWho): number {
    const who = simplify(described);
    const text = describeWho(who);
    const known = this.#numbers.get(text);
    if (known !== undefined) return known;
    const number = this.#whos.push(who) - 1;
    this.#numbers.set(text, number);
    for (const leaf of leavesOf(who)) this.#listOf(leaf).push(number);
    return number;
  }

  /** The numbers of all that hold for a client. */
  holding({ clientId, username, address }: AclClient): ReadonlySet<number> {
    const subject = { clientId, username, addressBits: addressBits(address) };
    const holding = new Set<number>();
    const check = (numbers: readonly number[] | undefined): void => {
      for (const number of numbers ?? []) if (this.#holds(number, subject)) holding.add(number);
    };
    check(this.#clients.get(clientId));
    if (username !== undefined) check(this.#users.get(username));
    if (subject.addressBits !== undefined) {
      this.#ranges.some(subject.addressBits, (numbers) => {
        check(numbers);
        return false;
      });
    }
    return holding.size === 0 ? onlyEverybody : holding.add(everybody);
  }

  #holds(number: number, subject: Subject): boolean {
    const who = this.#whos[number];
    return who !== undefined && holds(who, subject);
  }

  #listOf(leaf: Leaf): number[] {
    if (leaf.kind !== 'ipaddr') {
      return listIn(leaf.kind === 'user' ? this.#users : this.#clients, leaf.name);
    }
    const list = listIn(this.#rangeLists, rangeKey(leaf.range));
    if (list.length === 0) this.#ranges.set(leaf.range, list);
    return list;
  }
}

function holds(who: AclWho, subject: Subject): boolean {
  switch (who.kind) {
    case 'all':
      return true;
    case 'user':
      return who.name === subject.username;
    case 'client':
      return who.name === subject.clientId;
    case 'ipaddr':
      return subject.addressBits !== undefined && isInRange(subject.addressBits, who.range);
    case 'and':
      return who.members.every((member) => holds(member, subject));
    case 'or':
      return who.members.some((member) => holds(member, subject));
  }
}

/** Means the same, and has `all` inside nothing: an 'or' with it is all, to an 'and' it adds nothing. */
function simplify(who: AclWho): AclWho {
  if (who.kind !== 'and' && who.kind !== 'or') return who;
  const members = who.members.map(simplify);
  const others = members.filter(({ kind }) => kind !== 'all');
  if (who.kind === 'or')
    return others.length < members.length ? { kind: 'all' } : { ...who, members };
  return others.length === 0 ? { kind: 'all' } : { ...who, members: others };
}

/** Of a simplified description. Whoever an 'and' holds for has a name of each member: one will do. */
function leavesOf(who: AclWho): readonly Leaf[] {
  switch (who.kind) {
    case 'all':
      return [];
    case 'and':
      return rarestOf(who.members.map(leavesOf));
    case 'or':
      return who.members.flatMap(leavesOf);
    default:
      return [who];
  }
}

/** Many clients share a range, one has a name. */
function rarestOf(choices: readonly (readonly Leaf[])[]): readonly Leaf[] {
  let rarest: readonly Leaf[] = [];
  let least = Number.POSITIVE_INFINITY;
  for (const leaves of choices) {
    const weight = leaves.reduce((sum, { kind }) => sum + (kind === 'ipaddr' ? 1000 : 1), 0);
    if (weight >= least) continue;
    rarest = leaves;
    least = weight;
  }
  return rarest;
}

function listIn(lists: Map<string, number[]>, name: string): number[] {
  let list = lists.get(name);
  if (list === undefined) {
    list = [];
    lists.set(name, list);
  }
  return list;
}
