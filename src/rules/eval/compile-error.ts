// A statement that can be read but means nothing: a column or function that there is not, arguments that
// cannot be. Who has the text finds line and column by `at` (sql/sql-error.ts).

export type CompileErrorKind = 'unknown_column' | 'unknown_function' | 'bad_sql';

export class CompileError extends Error {
  override readonly name = 'CompileError';
  readonly kind: CompileErrorKind;
  /** Where in the text, in UTF-16 units from 0. */
  readonly at: number;

  constructor(kind: CompileErrorKind, at: number, message: string) {
    super(message);
    this.kind = kind;
    this.at = at;
  }
}
