// The REST API: routes made of the catalogue. Fastify's routes cannot be taken away, so a change of the
// catalogue, which plugins bring about, makes a new instance; requests under way end in the old one.
// Laws: credentials are checked before it is told whether a path exists; every answer is an envelope.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '#base/clock';
import type { Logger } from '#base/log';
import type { Catalogue } from '#admin/catalogue';
import { checkParams } from '#admin/check-params';
import type { AnyOperation, Caller } from '#admin/operation';
import type { Services } from '#admin/services';
import { authenticate, type Owner } from './basic-auth.ts';
import { isCrossSite } from './cross-site.ts';
import { type Answer, failed, failure, forbidden, notFound, success } from './envelope.ts';
import { BadEscape, readJson, requestParams } from './request-params.ts';
import { isApiPath } from './request-path.ts';
import { streamAnswer } from './stream-answer.ts';

export interface ApiParts {
  readonly catalogue: Catalogue;
  readonly services: Pick<Services, 'apps' | 'users'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly bodyBytesMax: number;
}

const prefix = '/api/v3';
/** Longer than a request line can be. */
const paramCharsMax = 65_536;

/** For requests that are being answered when management stops. */
const stopMsMax = 2000;

/** A request that is being answered. */
interface Visit {
  readonly owner: Owner;
  readonly response: ServerResponse;
  readonly ended: AbortController;
  /** Who asks, once that is known. */
  name: string;
  /** It would go on for as long as somebody listens. */
  isStream: boolean;
}

export class Api implements AsyncDisposable {
  readonly #parts: ApiParts;
  readonly #visits = new Map<IncomingMessage, Visit>();
  /** Made for the first request: a start does not wait for it. */
  #app: Promise<FastifyInstance> | undefined;
  #onEmpty: (() => void) | undefined;

  constructor(parts: ApiParts) {
    this.#parts = parts;
    parts.catalogue.onChange(() => {
      this.#app = undefined;
    });
  }

  serve(owner: Owner, request: IncomingMessage, response: ServerResponse): void {
    const ended = new AbortController();
    this.#visits.set(request, { owner, response, ended, name: '', isStream: false });
    response.once('close', () => {
      ended.abort();
      this.#visits.delete(request);
      if (this.#visits.size === 0) this.#onEmpty?.();
    });
    // Whatever it says, it is JSON.
    delete request.headers['content-type'];
    if (isCrossSite(request)) {
      this.#answer(response, forbidden);
      return;
    }
    this.#app ??= this.#build();
    this.#app
      .then((app) => app.routing(request, response))
      .catch((error: unknown) => {
        this.#answer(
          response,
          failed(error, (fault) => this.#onFault(undefined, fault)),
        );
      });
  }

  /** Nobody is let in any more; those who are there have a moment. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#visits.size === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onEmpty = resolve;
    for (const { ended, isStream } of this.#visits.values()) if (isStream) ended.abort();
    const late = this.#parts.clock.setTimer(stopMsMax, () => {
      for (const { response } of this.#visits.values()) response.destroy();
    });
    await promise;
    late.cancel();
  }

  async #build(): Promise<FastifyInstance> {
    const { catalogue, bodyBytesMax } = this.#parts;
    const { fastify } = await import('fastify');
    const app = fastify({
      bodyLimit: bodyBytesMax,
      routerOptions: {
        ignoreTrailingSlash: true,
        ignoreDuplicateSlashes: true,
        maxParamLength: paramCharsMax,
        querystringParser: () => ({}),
      },
      frameworkErrors: (_error, request, reply) => void this.#refuseUrl(request, reply),
    });
    // Any body on any method.
    for (const method of ['GET', 'HEAD', 'DELETE']) {
      app.addHttpMethod(method, { hasBody: true, overrideExisting: true });
    }
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('*', { parseAs: 'buffer' }, async (_request: unknown, body: Buffer) =>
      readJson(body),
    );
    app.addHook('onRequest', (request) => this.#admit(request));
    app.setNotFoundHandler((_request, reply) => this.#send(reply, notFound));
    app.setErrorHandler((error, request, reply) => this.#fail(error, request, reply));
    for (const operation of catalogue.all()) this.#route(app, operation);
    await app.ready();
    return app;
  }

  #route(app: FastifyInstance, operation: AnyOperation): void {
    const { http } = operation;
    if (http === undefined) return;
    const below = http.path === '/' ? prefix : `${prefix}${http.path}`;
    const url = http.root === true ? http.path : below;
    app.route({
      method: http.method,
      url,
      config: { operation },
      handler: (request, reply) => this.#run(operation, request, reply),
    });
  }

  /** Paths of somebody else are not ours to guard. */
  async #admit(request: FastifyRequest): Promise<void> {
    const operation = operationOf(request);
    const visit = this.#visitOf(request);
    if (operation?.http?.isOpen && isServed(operation, visit.owner)) return;
    if (operation === undefined && !isApiPath(request.raw.url)) return;
    const { authorization } = request.headers;
    const { services } = this.#parts;
    visit.name = await authenticate(services, visit.owner, authorization, addressOf(request));
  }

  async #run(operation: AnyOperation, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const visit = this.#visitOf(request);
    const { owner, name, ended, response } = visit;
    const { http } = operation;
    if (http === undefined || !isServed(operation, owner)) return this.#send(reply, notFound);
    const raw = requestParams(http, {
      path: request.params as Record<string, string>,
      url: request.raw.url ?? '',
      body: request.body,
    });
    const params = checkParams(operation.params, raw, operation.wrongParams);
    const address = addressOf(request);
    const caller: Caller = { name, address, port: owner, signal: ended.signal };
    const result = await operation.run(params, caller);
    if (http.produces === undefined) return this.#send(reply, success(result));
    visit.isStream = true;
    reply.hijack();
    await streamAnswer(response, http.produces, result, (error) =>
      this.#onFault(operation.name, error),
    );
  }

  async #refuseUrl(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    try {
      await this.#admit(request);
      this.#fail(new BadEscape(request.raw.url ?? ''), request, reply);
    } catch (error) {
      this.#fail(error, request, reply);
    }
  }

  #fail(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const name = operationOf(request)?.name;
    const visit = this.#visits.get(request.raw);
    // Whoever asked is gone, and with it what it asked for.
    const isGone = visit === undefined || visit.ended.signal.aborted;
    if (isGone || error === request.raw.errored) {
      reply.hijack();
      return;
    }
    const answer =
      error instanceof BadEscape
        ? failure(400, 108, error.message)
        : failed(error, (fault) => this.#onFault(name, fault));
    // What is left of a body that is too large is not waited for.
    this.#send(reply, answer, answer.status === 413);
  }

  #send(reply: FastifyReply, { status, headers, body }: Answer, isLast = false): void {
    if (isLast) reply.header('connection', 'close');
    // As bytes: to a text Fastify adds a charset, which JSON does not have.
    reply.code(status).headers(headers).send(Buffer.from(body));
  }

  /** Past the library. What is left of the body is not waited for. */
  #answer(response: ServerResponse, { status, headers, body }: Answer): void {
    if (response.headersSent) response.destroy();
    else response.writeHead(status, { ...headers, connection: 'close' }).end(body);
  }

  #onFault(operation: string | undefined, error: unknown): void {
    this.#parts.log.error('operation.failed', { operation, error });
  }

  #visitOf(request: FastifyRequest): Visit {
    const visit = this.#visits.get(request.raw);
    if (visit === undefined) throw new TypeError('a request came past `serve`');
    return visit;
  }
}

function operationOf(request: FastifyRequest): AnyOperation | undefined {
  const { config } = request.routeOptions as { config?: { operation?: AnyOperation } };
  return config?.operation;
}

function isServed({ http }: AnyOperation, owner: Owner): boolean {
  return http?.port !== 'dashboard' || owner === 'dashboard';
}

function addressOf(request: FastifyRequest): string {
  return request.raw.socket.remoteAddress ?? '';
}
