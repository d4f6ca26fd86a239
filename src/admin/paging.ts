// `_page` and `_limit`, as every paged list takes them.

import { type TInteger, type TObject, type TOptional, Type } from 'typebox';

export interface PagingParams {
  readonly _page?: number;
  readonly _limit?: number;
}

/** For the schema of a paged operation: `Type.Object({ ...pagingParams(max), … })`. */
export function pagingParams(rowsMax: number): {
  _page: TOptional<TInteger>;
  _limit: TOptional<TInteger>;
} {
  return {
    _page: Type.Optional(
      Type.Integer({ minimum: 1, default: 1, description: 'Which page, from 1' }),
    ),
    _limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: rowsMax,
        default: rowsMax,
        description: 'Rows of a page',
      }),
    ),
  };
}

export interface Slice {
  readonly page: number;
  readonly limit: number;
  /** Of the first row. */
  readonly offset: number;
}

export function sliceOf({ _page: page = 1, _limit }: PagingParams, rowsMax: number): Slice {
  const limit = _limit ?? rowsMax;
  return { page, limit, offset: (page - 1) * limit };
}

export const noParams: TObject<Record<never, never>> = Type.Object({});
