// One of the addresses that are asked, ready to be asked for anybody: what is the same in every request
// is put together once.

import type { EndpointSettings } from './config.ts';
import { formOf, jsonOf, type Subject } from './params.ts';

/** A request, as the client of HTTP takes it. */
export interface HttpQuestion {
  readonly isTls: boolean;
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

export class Endpoint {
  /** `http://127.0.0.1:8991`: who answers. */
  readonly origin: string;
  readonly #settings: EndpointSettings;
  readonly #base: Omit<HttpQuestion, 'body'>;

  constructor(settings: EndpointSettings, headers: Readonly<Record<string, string>>) {
    const { protocol, hostname, port, pathname, search, origin } = new URL(settings.url);
    const isTls = protocol === 'https:';
    this.origin = origin;
    this.#settings = settings;
    this.#base = {
      isTls,
      // Brackets belong to the URL, not to the address.
      host: hostname.replace(/^\[(.*)\]$/, '$1'),
      port: port === '' ? (isTls ? 443 : 80) : Number(port),
      path: pathname + search,
      method: settings.method.toUpperCase(),
      headers: { 'accept-encoding': 'identity', ...headers },
    };
  }

  /** Undefined: what the client showed cannot be said in this form. */
  questionOf(subject: Subject): HttpQuestion | undefined {
    const { method, params, bodyKind } = this.#settings;
    if (method === 'get') return this.#inQuery(formOf(params, subject));
    const body = bodyKind === 'json' ? jsonOf(params, subject) : formOf(params, subject);
    if (body === undefined) return undefined;
    const headers = {
      ...this.#base.headers,
      'content-type':
        bodyKind === 'json' ? 'application/json' : 'application/x-www-form-urlencoded',
      'content-length': String(Buffer.byteLength(body)),
    };
    return { ...this.#base, headers, body };
  }

  #inQuery(query: string): HttpQuestion {
    const { path } = this.#base;
    return {
      ...this.#base,
      path: `${path}${path.includes('?') ? '&' : '?'}${query}`,
      body: undefined,
    };
  }
}
