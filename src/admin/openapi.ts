// OpenAPI 3.1 of the management API, as a pure function of its operations. Failures are HTTP 200 with a
// code in the envelope, but for those that concern HTTP itself.

import { type ApiEntry, type ApiParam, apiEntries } from './api-docs-entries.ts';
import { failureMeanings, failureRows } from './api-docs-failures.ts';
import type { FailureName } from './failures.ts';
import type { AnyOperation } from './operation.ts';

type Json = Readonly<Record<string, unknown>>;

export interface OpenApiDocument extends Json {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Json>>>>;
}

/** `version`: of the broker. */
export function openApi(operations: readonly AnyOperation[], version: string): OpenApiDocument {
  const entries = apiEntries(operations).filter(({ http }) => http !== undefined);
  const paths: Record<string, Record<string, Json>> = {};
  for (const entry of entries) {
    const item = (paths[entry.path] ??= {});
    item[entry.http?.method.toLowerCase() ?? ''] = operationObject(entry);
  }
  const tags = [...new Set(entries.map(({ operation }) => operation.tag))].sort();
  return {
    openapi: '3.1.0',
    info: {
      title: 'Broker management API',
      version,
      description: introduction,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'The port that this was read from' }],
    security: [{ basic: [] }],
    tags: tags.map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: {
        basic: {
          type: 'http',
          scheme: 'basic',
          description:
            'AppID and AppSecret of an application; on the port of the dashboard the name and password of a user.',
        },
      },
      schemas: { Failure: failureSchema, Meta: metaSchema },
      responses: Object.fromEntries(
        [...httpFailures].map(([name, kind]) => [name, failureResponse(kind)]),
      ),
    },
  };
}

const introduction = [
  'Every answer is a JSON envelope: `code` is 0 when the call did what it should, and `data` its result;',
  'otherwise `code` says what went wrong and `message` why.',
  'Fields of a body can be sent in the query as well. Path parameters are percent-encoded.',
].join(' ');

const metaSchema: Json = {
  type: 'object',
  description: 'Which part of the whole list this is',
  required: ['page', 'limit', 'count'],
  properties: {
    page: { type: 'integer', minimum: 1 },
    limit: { type: 'integer', minimum: 1 },
    count: { type: 'integer', minimum: 0, description: 'Rows of the whole list' },
  },
};

const failureSchema: Json = {
  type: 'object',
  description: 'What went wrong',
  required: ['code', 'message'],
  properties: {
    code: {
      type: 'integer',
      not: { const: 0 },
      description: failureRows()
        .map(({ code, meaning }) => `${code}: ${meaning}`)
        .join('; '),
    },
    message: { type: 'string' },
  },
};

/** Failures with a status of their own, by the names of their responses. */
const httpFailures: ReadonlyMap<string, FailureName> = new Map([
  ['BadRequest', 'notJson'],
  ['Unauthorized', 'unauthorized'],
  ['NotFound', 'notFound'],
  ['TooLarge', 'tooLarge'],
  ['TooMany', 'tooMany'],
  ['Internal', 'internal'],
]);

function failureResponse(kind: FailureName): Json {
  const content = { 'application/json': { schema: { $ref: '#/components/schemas/Failure' } } };
  const response = { description: failureMeanings[kind], content };
  if (kind === 'unauthorized') {
    return { ...response, headers: { 'WWW-Authenticate': { schema: { type: 'string' } } } };
  }
  if (kind === 'tooMany') {
    return { ...response, headers: { 'Retry-After': { schema: { type: 'integer' } } } };
  }
  return response;
}

function operationObject(entry: ApiEntry): Json {
  const { id, operation, descr, http, commands } = entry;
  const isDashboard = http?.port === 'dashboard';
  const notes = [
    ...(isDashboard ? ['Only on the port of the dashboard.'] : []),
    ...commands.map((command) => `Command: \`${command}\``),
  ];
  const body = bodyOf(entry);
  return {
    operationId: id,
    summary: descr,
    ...(notes.length > 0 && { description: notes.join('\n\n') }),
    tags: [operation.tag],
    parameters: entry.params.filter((param) => param.in !== 'body').map(parameterObject),
    ...(body && { requestBody: body }),
    responses: {
      200: { description: 'The answer', content: contentOf(entry) },
      ...failuresOf(entry),
    },
    ...(http?.isOpen === true && { security: [] }),
  };
}

function parameterObject({ name, in: place, schema, isRequired }: ApiParam): Json {
  const { description, ...rest } = schema as Json;
  return {
    name,
    in: place,
    required: isRequired,
    ...(description !== undefined && { description }),
    schema: rest,
  };
}

function bodyOf({ http, params }: ApiEntry): Json | undefined {
  const fields = params.filter((param) => param.in === 'body');
  if (fields.length === 0) return undefined;
  const isRequired = fields.some((field) => field.isRequired);
  const [whole] = http?.bodyAs === undefined ? [] : fields;
  const schema = whole?.schema ?? {
    type: 'object',
    required: fields.filter((field) => field.isRequired).map(({ name }) => name),
    properties: Object.fromEntries(fields.map((field) => [field.name, field.schema])),
  };
  return { required: isRequired, content: { 'application/json': { schema } } };
}

function contentOf({ operation, http, isPaged }: ApiEntry): Json {
  if (http?.produces !== undefined) {
    const isJson = http.produces.startsWith('application/json');
    return { [http.produces]: { schema: { type: isJson ? 'object' : 'string' } } };
  }
  const { result } = operation;
  const success = {
    type: 'object',
    required: ['code', ...(result ? ['data'] : []), ...(isPaged ? ['meta'] : [])],
    properties: {
      code: { const: 0 },
      ...(result && { data: result }),
      ...(isPaged && { meta: { $ref: '#/components/schemas/Meta' } }),
    },
  };
  const schema = { oneOf: [success, { $ref: '#/components/schemas/Failure' }] };
  return { 'application/json': { schema } };
}

function failuresOf({ http, params }: ApiEntry): Json {
  const has = (place: ApiParam['in']): boolean => params.some((param) => param.in === place);
  const ref = (name: string): Json => ({ $ref: `#/components/responses/${name}` });
  return {
    ...(params.length > 0 && { 400: ref('BadRequest') }),
    ...(http?.isOpen !== true && { 401: ref('Unauthorized') }),
    ...(has('path') && { 404: ref('NotFound') }),
    ...(has('body') && { 413: ref('TooLarge') }),
    429: ref('TooMany'),
    500: ref('Internal'),
  };
}
