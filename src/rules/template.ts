// Texts with placeholders, `${a.b[1]}`, taken apart once and filled in for each event. Laws: only own keys of
// the selected data are reached; values are written as everywhere (value-text.ts), a missing one as `null`;
// what comes out is bounded. What looks like a placeholder and is none stays as it is written.

import { raise } from './eval/raise.ts';
import { isBytes, isList, isMap, isMissing, ownKey, type Value } from './eval/value.ts';
import { textOf } from './eval/value-text.ts';

type Step = string | number;

interface Placeholder {
  /** As it is written: `${a.b[1]}`. */
  readonly text: string;
  readonly steps: readonly Step[];
}

const key = String.raw`[A-Za-z0-9_$@~-]+`;
const step = String.raw`(?:\.${key}|\[-?[0-9]{1,9}\])`;
const placeholders = new RegExp(String.raw`\$\{(${key}${step}*)\}`, 'g');
const steps = /([^.[\]]+)/g;

/** Of what comes out. */
export const renderedCharactersMax: number = 4 * 2 ** 20;

export class Template {
  readonly #parts: readonly (string | Placeholder)[];

  constructor(text: string) {
    const parts: (string | Placeholder)[] = [];
    let end = 0;
    for (const found of text.matchAll(placeholders)) {
      if (found.index > end) parts.push(text.slice(end, found.index));
      parts.push({ text: found[0], steps: stepsOf(found[1] as string) });
      end = found.index + found[0].length;
    }
    if (end < text.length) parts.push(text.slice(end));
    this.#parts = parts;
  }

  /** The text itself where it has no placeholders. */
  get constant(): string | undefined {
    const { length } = this.#parts;
    const [first = ''] = this.#parts;
    return length > 1 || typeof first !== 'string' ? undefined : first;
  }

  /** What stands between the placeholders. */
  get literals(): readonly string[] {
    return this.#parts.filter((part) => typeof part === 'string');
  }

  render(selected: Value): string {
    return this.renderEach(selected, (text) => text);
  }

  /** The same, each value as `write` writes it. */
  renderEach(selected: Value, write: (text: string) => string): string {
    let text = '';
    for (const part of this.#parts) {
      text += typeof part === 'string' ? part : write(textOf(valueAt(selected, part.steps)));
      checkLength(text.length);
    }
    return text;
  }

  /** The value itself where the text is nothing but one placeholder. */
  valueIn(selected: Value): { readonly value: Value } | undefined {
    const [only, ...others] = this.#parts;
    if (only === undefined || typeof only === 'string' || others.length > 0) return undefined;
    return { value: valueAt(selected, only.steps) };
  }

  /** The same, but bytes stay the bytes they are. */
  renderBytes(selected: Value): string | Buffer {
    const values = this.#parts.map((part) =>
      typeof part === 'string' ? part : valueAt(selected, part.steps),
    );
    if (!values.some(isBytes)) return this.render(selected);
    const pieces: Buffer[] = [];
    let bytes = 0;
    for (const value of values) {
      const piece = isBytes(value) ? value : Buffer.from(textOf(value));
      pieces.push(piece);
      bytes += piece.length;
      checkLength(bytes);
    }
    return Buffer.concat(pieces);
  }

  /** A placeholder that has no value; undefined: all have one. */
  missingIn(selected: Value): string | undefined {
    for (const part of this.#parts) {
      if (typeof part !== 'string' && isMissing(valueAt(selected, part.steps))) return part.text;
    }
    return undefined;
  }

  /** For a database: `?` or `$1`, `$2` … in place of placeholders, and what they stand for. */
  statement(style: '?' | '$n'): SqlTemplate {
    let text = '';
    const bound: (readonly Step[])[] = [];
    for (const part of this.#parts) {
      if (typeof part === 'string') {
        text += part;
        continue;
      }
      bound.push(part.steps);
      text += style === '?' ? '?' : `$${bound.length}`;
    }
    return { text, values: (selected) => bound.map((path) => boundValue(valueAt(selected, path))) };
  }
}

/** A statement whose values travel beside it, so that no value can become part of it. */
export interface SqlTemplate {
  readonly text: string;
  values(selected: Value): readonly BoundValue[];
}

export type BoundValue = string | number | bigint | boolean | null | Buffer;

function boundValue(value: Value): BoundValue {
  if (isMissing(value)) return null;
  if (typeof value !== 'object' || isBytes(value)) return value;
  return textOf(value);
}

function stepsOf(path: string): readonly Step[] {
  const found: Step[] = [];
  for (const { 0: text, index } of path.matchAll(steps)) {
    found.push(path[index - 1] === '[' ? Number(text) : text);
  }
  return found;
}

function valueAt(selected: Value, path: readonly Step[]): Value {
  let value = selected;
  for (const one of path) {
    if (typeof one === 'number') value = isList(value) ? elementAt(value, one) : undefined;
    else value = isMap(value) ? ownKey(value, one) : undefined;
  }
  return value;
}

/** As in SQL: counted from 1, from the end where it is negative. */
function elementAt(list: readonly Value[], index: number): Value {
  return index > 0 ? list[index - 1] : index < 0 ? list.at(index) : undefined;
}

function checkLength(length: number): void {
  if (length > renderedCharactersMax) {
    raise(() => `what a template gives has more than ${renderedCharactersMax} characters`);
  }
}
