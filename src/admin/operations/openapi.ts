// The API about itself: the document for programs and the page for people. Both are made anew from the
// catalogue after it has changed, when somebody asks.

import { Readable } from 'node:stream';
import { type AnyOperation, define } from '../operation.ts';
import { openApi } from '../openapi.ts';
import { openApiPage } from '../openapi-page.ts';
import { noParams } from '../paging.ts';
import type { AdminParts } from '../parts.ts';

export function openApiOperations({
  catalogue,
  version,
}: Pick<AdminParts, 'catalogue' | 'version'>): AnyOperation[] {
  const document = kept(catalogue, () => JSON.stringify(openApi(catalogue.all(), version)));
  const page = kept(catalogue, () => openApiPage(catalogue.all(), version));
  return [
    define({
      name: 'openapi',
      descr: 'This API as an OpenAPI 3.1 document',
      tag: 'API',
      http: { method: 'GET', path: '/openapi.json', produces: 'application/json' },
      params: noParams,
      run: () => Readable.from([document()]),
    }),
    define({
      name: 'api_docs',
      descr: 'This API as a page to browse',
      tag: 'API',
      http: { method: 'GET', path: '/docs', produces: 'text/html; charset=utf-8' },
      params: noParams,
      run: () => Readable.from([page()]),
    }),
  ];
}

function kept(catalogue: AdminParts['catalogue'], make: () => string): () => string {
  let text: string | undefined;
  catalogue.onChange(() => {
    text = undefined;
  });
  return () => (text ??= make());
}
