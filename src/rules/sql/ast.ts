// What a statement means after it was parsed: the tree that the parser builds, the printer writes and the
// compiler reads. Laws: `at` is the place in the text where a part begins, counted in UTF-16 units from 0;
// nothing here knows events or values.

/** `SELECT … FROM … [WHERE …]` or `FOREACH … [DO …] [INCASE …] FROM … [WHERE …]`. */
export type Statement = SelectStatement | ForeachStatement;

export interface SelectStatement {
  readonly kind: 'select';
  readonly fields: readonly Field[];
  readonly from: readonly Source[];
  readonly where: Expression | undefined;
}

export interface ForeachStatement {
  readonly kind: 'foreach';
  /** The last one is the collection, its alias the name of an element. */
  readonly fields: readonly Field[];
  /** Undefined: the element itself. */
  readonly each: readonly Field[] | undefined;
  readonly incase: Expression | undefined;
  readonly from: readonly Source[];
  readonly where: Expression | undefined;
}

/** An event (`message.publish`, `$events/client_connected`) or a topic filter, without its quotes. */
export interface Source {
  readonly name: string;
  readonly at: number;
}

export type Field = AllFields | ValueField;

/** `*` */
export interface AllFields {
  readonly kind: 'all';
  readonly at: number;
}

export interface ValueField {
  readonly kind: 'value';
  readonly value: Expression;
  /** `as a.b.c`; undefined: none was given. */
  readonly alias: readonly AliasStep[] | undefined;
  readonly at: number;
}

/** A key, or an index to write at: `[0]` before the first element, `[-0]` behind the last. */
export type AliasStep =
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'index'; readonly index: number; readonly isFromEnd: boolean };

export type Expression =
  | Constant
  | Path
  | Call
  | Unary
  | Binary
  | Membership
  | Case
  | ListLiteral
  | RangeLiteral;

/** A sign before a number is part of it; integers beyond 2^53 are bigints; `null` and `undefined` are null. */
export interface Constant {
  readonly kind: 'constant';
  readonly value: string | number | bigint | boolean | null;
  readonly at: number;
}

/** `payload.a[1].'odd key'`: the first step is a name. */
export interface Path {
  readonly kind: 'path';
  readonly steps: readonly [KeyStep, ...PathStep[]];
  readonly at: number;
}

export interface KeyStep {
  readonly kind: 'key';
  readonly key: string;
}

export type PathStep =
  | KeyStep
  /** Counted from 1; negative: from the end. */
  | { readonly kind: 'index'; readonly index: Expression }
  | { readonly kind: 'range'; readonly from: Expression; readonly to: Expression };

export interface Call {
  readonly kind: 'call';
  /** In small letters. */
  readonly name: string;
  readonly args: readonly Expression[];
  readonly at: number;
}

export interface Unary {
  readonly kind: 'unary';
  readonly operator: '-' | '+' | 'not';
  readonly operand: Expression;
  readonly at: number;
}

export type BinaryOperator =
  | 'or'
  | 'and'
  | '='
  | '!='
  | '<'
  | '>'
  | '<='
  | '>='
  | '=~'
  | '+'
  | '-'
  | '*'
  | '/'
  | 'div'
  | 'mod';

export interface Binary {
  readonly kind: 'binary';
  readonly operator: BinaryOperator;
  readonly left: Expression;
  readonly right: Expression;
  readonly at: number;
}

/** `x [NOT] IN (a, b)` */
export interface Membership {
  readonly kind: 'in';
  readonly value: Expression;
  readonly among: readonly Expression[];
  readonly isNegated: boolean;
  readonly at: number;
}

export interface Case {
  readonly kind: 'case';
  /** Simple form: compared with each `when`; undefined: each `when` is a condition. */
  readonly subject: Expression | undefined;
  readonly branches: readonly { readonly when: Expression; readonly then: Expression }[];
  readonly otherwise: Expression | undefined;
  readonly at: number;
}

/** `[a, 1, 'x']` */
export interface ListLiteral {
  readonly kind: 'list';
  readonly items: readonly Expression[];
  readonly at: number;
}

/** `[1..5]` */
export interface RangeLiteral {
  readonly kind: 'range';
  readonly from: Expression;
  readonly to: Expression;
  readonly at: number;
}
