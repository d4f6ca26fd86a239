// Regular expressions for texts that strangers choose: the time of a match grows with the length of the
// text and of the expression, never faster, where the engine of the runtime can be made to try for years.
// All ways through the expression are followed at once, character by character (Pike's machine):
//
//   program   char, set: takes a character · save: a group begins or ends · split: two ways, the first
//             preferred · jump · begin, end · match
//   ways      at each character a list of places in the program, best first, each place once:
//             characters × program is all the work there can be
//
// The match is the leftmost, and of those the one that a backtracking engine would find.

import {
  type CharSet,
  parseRegex,
  RegexFault,
  type RegexNode,
  type Repeat,
} from './regex-syntax.ts';

type Step =
  | { readonly op: 'char'; readonly code: number }
  | { readonly op: 'set'; readonly set: CharSet }
  | { readonly op: 'save'; readonly slot: number }
  | { readonly op: 'split'; first: number; second: number }
  | { readonly op: 'jump'; to: number }
  | { readonly op: 'begin' | 'end' | 'match' };

/** Repetitions with numbers are written out. */
const stepsMax = 2000;

/** Where the groups of a way begin and end; -1: not yet. Never changed once made. */
type Slots = readonly number[];

interface Ways {
  readonly places: Int32Array;
  readonly slots: Slots[];
  count: number;
}

export class LinearRegex {
  readonly groups: number;
  readonly #steps: readonly Step[];
  /** It begins with `^`: there is no need to look any further than the beginning. */
  readonly #isAnchored: boolean;
  /** By place: the character at which it was last entered into a list. */
  readonly #seen: Int32Array;
  #now: Ways;
  #next: Ways;
  #text = '';
  /** What the best way that has come to an end captured. */
  #found: Slots | undefined;

  /** Throws a RegexFault, worded to follow a colon. */
  constructor(text: string) {
    const { root, groups } = parseRegex(text);
    this.groups = groups;
    this.#steps = compiled(root);
    this.#isAnchored = this.#steps[1]?.op === 'begin';
    const { length } = this.#steps;
    this.#seen = new Int32Array(length);
    this.#now = { places: new Int32Array(length), slots: [], count: 0 };
    this.#next = { places: new Int32Array(length), slots: [], count: 0 };
  }

  /** The whole match, then each group, '' for one that took no part; undefined: there is no match. */
  exec(text: string): string[] | undefined {
    const found = this.#run(text);
    if (found === undefined) return undefined;
    const texts: string[] = [];
    for (let i = 0; i < found.length; i += 2) {
      const [from, to] = [found[i] as number, found[i + 1] as number];
      texts.push(from < 0 || to < 0 ? '' : text.slice(from, to));
    }
    return texts;
  }

  #run(text: string): Slots | undefined {
    this.#text = text;
    this.#found = undefined;
    this.#seen.fill(-1);
    this.#now.count = 0;
    const none: Slots = new Array<number>(2 * (this.groups + 1)).fill(-1);
    for (let at = 0; ; ) {
      // A match further to the left is never given up for one that would begin here.
      const mayBegin = this.#found === undefined && (at === 0 || !this.#isAnchored);
      if (mayBegin) this.#follow(0, at, none, this.#now);
      if (this.#now.count === 0 && !mayBegin) return this.#found;
      const code = text.codePointAt(at);
      at += code !== undefined && code > 0xffff ? 2 : 1;
      this.#advance(code, at);
      if (code === undefined) return this.#found;
    }
  }

  /** Every way takes one character; those behind one that has matched are worse than it and end. */
  #advance(code: number | undefined, after: number): void {
    const { places, slots, count } = this.#now;
    this.#next.count = 0;
    for (let i = 0; i < count; i++) {
      const place = places[i] as number;
      const step = this.#steps[place] as Step;
      if (step.op === 'match') {
        this.#found = slots[i];
        break;
      }
      if (takes(step, code)) this.#follow(place + 1, after, slots[i] as Slots, this.#next);
    }
    [this.#now, this.#next] = [this.#next, this.#now];
  }

  /** Enters a way into a list, with all that it can become without taking a character. */
  #follow(place: number, at: number, slots: Slots, into: Ways): void {
    if (this.#seen[place] === at) return;
    this.#seen[place] = at;
    const step = this.#steps[place] as Step;
    switch (step.op) {
      case 'jump':
        this.#follow(step.to, at, slots, into);
        return;
      case 'split':
        this.#follow(step.first, at, slots, into);
        this.#follow(step.second, at, slots, into);
        return;
      case 'save':
        this.#follow(place + 1, at, slots.with(step.slot, at), into);
        return;
      case 'begin':
        if (at === 0) this.#follow(place + 1, at, slots, into);
        return;
      case 'end':
        if (at === this.#text.length) this.#follow(place + 1, at, slots, into);
        return;
      default:
        into.places[into.count] = place;
        into.slots[into.count++] = slots;
    }
  }
}

/** `code`: undefined at the end of the text. */
function takes(step: Step, code: number | undefined): boolean {
  if (code === undefined) return false;
  if (step.op === 'char') return step.code === code;
  if (step.op !== 'set') return false;
  const { ranges, isNegated } = step.set;
  for (const [from, to] of ranges) if (code >= from && code <= to) return !isNegated;
  return isNegated;
}

function compiled(root: RegexNode): readonly Step[] {
  const writer = new StepWriter();
  writer.write({ kind: 'group', index: 0, body: root });
  return [...writer.steps, { op: 'match' }];
}

type Fork = Extract<Step, { op: 'split' }>;
type Jump = Extract<Step, { op: 'jump' }>;

class StepWriter {
  readonly steps: Step[] = [];
  /** Also of what comes to no step, such as an empty group a thousand times a thousand times. */
  #written = 0;

  write(node: RegexNode): void {
    if (++this.#written > stepsMax) throw new RegexFault(`it comes to more than ${stepsMax} steps`);
    switch (node.kind) {
      case 'char':
        this.steps.push({ op: 'char', code: node.code });
        return;
      case 'set':
        this.steps.push({ op: 'set', set: node.set });
        return;
      case 'begin':
      case 'end':
        this.steps.push({ op: node.kind });
        return;
      case 'group':
        if (node.index !== undefined) this.steps.push({ op: 'save', slot: node.index * 2 });
        this.write(node.body);
        if (node.index !== undefined) this.steps.push({ op: 'save', slot: node.index * 2 + 1 });
        return;
      case 'sequence':
        for (const part of node.parts) this.write(part);
        return;
      case 'choice':
        this.#choice(node.options);
        return;
      case 'repeat':
        this.#repeat(node);
    }
  }

  #choice(options: readonly RegexNode[]): void {
    const { steps } = this;
    const ends: Jump[] = [];
    for (const option of options.slice(0, -1)) {
      const fork = this.#fork();
      fork.first = steps.length;
      this.write(option);
      const end: Jump = { op: 'jump', to: 0 };
      steps.push(end);
      ends.push(end);
      fork.second = steps.length;
    }
    this.write(options.at(-1) as RegexNode);
    for (const end of ends) end.to = steps.length;
  }

  #repeat({ body, least, most, isGreedy }: Repeat): void {
    const { steps } = this;
    for (let i = 0; i < least; i++) this.write(body);
    if (most === Number.POSITIVE_INFINITY) {
      const start = steps.length;
      const fork = this.#fork();
      this.write(body);
      steps.push({ op: 'jump', to: start });
      lead(fork, start + 1, steps.length, isGreedy);
      return;
    }
    const forks: { readonly fork: Fork; readonly again: number }[] = [];
    for (let i = least; i < most; i++) {
      forks.push({ fork: this.#fork(), again: steps.length });
      this.write(body);
    }
    for (const { fork, again } of forks) lead(fork, again, steps.length, isGreedy);
  }

  /** Where it leads is known when what follows is written. */
  #fork(): Fork {
    const fork: Fork = { op: 'split', first: 0, second: 0 };
    this.steps.push(fork);
    return fork;
  }
}

function lead(fork: Fork, again: number, on: number, isGreedy: boolean): void {
  fork.first = isGreedy ? again : on;
  fork.second = isGreedy ? on : again;
}
