// The resource `web_hook`: a web server that is told by HTTP. Law: what it takes of a job is checked again
// here, so that no header or path can be made of several.

import type { ParamSpecs, Params } from '../actions/param-spec.ts';
import { type ClientTls, readClientTls } from './client-tls.ts';
import { HttpSender, type WebRequest } from './http-sender.ts';
import { queueParams } from './queue-params.ts';
import { defineResourceType, JobFault, type ResourceType } from './resource-type.ts';
import type { WebJob } from './web-hook-job.ts';

const params: ParamSpecs = {
  url: {
    type: 'string',
    required: true,
    format: 'url',
    title: { en: 'Request URL', zh: '请求 URL' },
    description: { en: 'Of the web server, without user and password', zh: 'Web 服务器的 URL' },
  },
  headers: {
    type: 'object',
    required: false,
    default: {},
    schema: {},
    secret: true,
    title: { en: 'Request Header', zh: '请求头' },
    description: {
      en: 'Headers of every request; values that are credentials by their names are never shown',
      zh: '自定义请求头；凭据类的值不会显示',
    },
  },
  method: {
    type: 'string',
    required: false,
    default: 'POST',
    enum: ['POST', 'PUT', 'GET', 'DELETE', 'post', 'put', 'get', 'delete'],
    title: { en: 'Request Method', zh: '请求方法' },
    description: { en: 'GET and DELETE have no body', zh: 'GET 与 DELETE 不带请求体' },
  },
  content_type: {
    type: 'string',
    required: false,
    default: 'application/json',
    enum: ['application/json', 'text/plain;charset=UTF-8', 'application/octet-stream'],
    title: { en: 'Content-Type', zh: 'Content-Type' },
    description: { en: 'Of the body', zh: '请求体的类型' },
  },
  connect_timeout: {
    type: 'number',
    required: false,
    default: 5,
    range: [0.01, 300],
    title: { en: 'Connect Timeout (s)', zh: '连接超时时间 (秒)' },
    description: { en: 'How long it may take to connect', zh: '连接超时时间' },
  },
  request_timeout: {
    type: 'number',
    required: false,
    default: 5,
    range: [0.01, 300],
    title: { en: 'Request Timeout (s)', zh: '请求超时时间 (秒)' },
    description: { en: 'How long one request may take', zh: '请求超时时间' },
  },
  pool_size: {
    type: 'number',
    required: false,
    default: 32,
    range: [1, 1024],
    title: { en: 'Pool Size', zh: '连接池大小' },
    description: { en: 'Requests under way at once', zh: '同时进行的请求数' },
  },
  cacertfile: {
    type: 'string',
    required: false,
    default: '',
    title: { en: 'CA Certificates File', zh: 'CA 证书文件' },
    description: {
      en: 'With https: a file on the node with the authorities that are believed, in place of those of the runtime',
      zh: '节点上的 CA 证书文件，用于 https',
    },
  },
  certfile: {
    type: 'string',
    required: false,
    default: '',
    title: { en: 'SSL Certfile', zh: '客户端证书文件' },
    description: {
      en: 'With https: a file on the node with the certificate that the broker shows',
      zh: '节点上的客户端证书文件，用于 https',
    },
  },
  keyfile: {
    type: 'string',
    required: false,
    default: '',
    title: { en: 'SSL Keyfile', zh: '客户端私钥文件' },
    description: { en: 'The key of that certificate', zh: '客户端证书的私钥文件' },
  },
  verify: {
    type: 'boolean',
    required: false,
    default: true,
    title: { en: 'Verify Server Certificate', zh: '校验服务器证书' },
    description: {
      en: 'With https: false believes whoever answers',
      zh: '是否校验服务器证书，用于 https',
    },
  },
  ...queueParams,
};

const tokenPattern = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const valuePattern = /^[\t\x20-\x7E\x80-\xFF]*$/;
/** These follow from the request itself. */
const ownHeaders: ReadonlySet<string> = new Set([
  ...['connection', 'content-length', 'expect', 'host', 'keep-alive', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade'],
]);

export const webHook: ResourceType = defineResourceType({
  name: 'web_hook',
  provider: 'broker_web_hook',
  title: { en: 'WebHook', zh: 'WebHook' },
  description: { en: 'WebHook', zh: 'WebHook' },
  params,
  check(config) {
    const { username, password } = new URL(String(config['url']));
    if (username !== '' || password !== '') {
      throw new Error('the URL has user and password, expected a header "authorization" instead');
    }
    headersOf(config);
    readClientTls(tlsOf(config));
  },
  create(config, { clock, isLinkLocalDenied }) {
    const seconds = (name: string): number => Number(config[name]) * 1000;
    const concurrency = Math.trunc(Number(config['pool_size']));
    const sender = new HttpSender({
      ...{ url: String(config['url']), poolSize: concurrency, clock, isLinkLocalDenied },
      connectTimeoutMs: seconds('connect_timeout'),
      requestTimeoutMs: seconds('request_timeout'),
      tls: tlsOf(config),
    });
    const toRequest = requestMaker(config);
    return {
      concurrency,
      batchMax: 1,
      isAlive: async () => {
        await sender.reach();
        return true;
      },
      async perform(jobs) {
        for (const job of jobs) await sender.send(toRequest(job as WebJob));
      },
      close: () => sender.close(),
    };
  },
});

/** Also of one that was kept when there were no such parameters. */
function tlsOf(config: Params): ClientTls {
  const file = (name: string): string | undefined =>
    (config[name] as string | undefined) || undefined;
  return {
    caFile: file('cacertfile'),
    certFile: file('certfile'),
    keyFile: file('keyfile'),
    isVerified: config['verify'] !== false,
  };
}

function requestMaker(config: Params): (job: WebJob) => WebRequest {
  const method = String(config['method']).toUpperCase();
  const hasBody = method === 'POST' || method === 'PUT';
  const contentType = hasBody ? { 'content-type': String(config['content_type']) } : {};
  const fixed = { ...contentType, ...headersOf(config) };
  return ({ path, headers, body }) => {
    const fault = Object.entries(headers).map(headerFault).find(Boolean) ?? pathFault(path);
    if (fault !== undefined) throw new JobFault(`Cannot send the request: ${fault}`, false);
    const length = hasBody ? { 'content-length': String(Buffer.byteLength(body)) } : {};
    const all = { ...fixed, ...lowered(headers), ...length };
    return { method, path, headers: all, body: hasBody ? body : undefined };
  };
}

function headersOf(config: Params): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(config['headers'] as Params)) {
    const isPlain = typeof value === 'string' || typeof value === 'number';
    const fault = isPlain ? headerFault([name, String(value)]) : `header "${name}" is no text`;
    if (fault !== undefined) throw new Error(fault);
    headers[name.toLowerCase()] = String(value);
  }
  return headers;
}

function lowered(headers: WebJob['headers']): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, v]) => [name.toLowerCase(), v]));
}

export function headerFault([name, value]: readonly [string, string]): string | undefined {
  if (!tokenPattern.test(name)) return `"${name.slice(0, 60)}" is no name of a header`;
  if (ownHeaders.has(name.toLowerCase())) return `header "${name}" follows from the request itself`;
  if (!valuePattern.test(value))
    return `the value of header "${name}" has characters beyond a line`;
  return undefined;
}

export function pathFault(path: string): string | undefined {
  return /^[\x21-\x7E]*$/.test(path) ? undefined : 'the path has characters that a URL cannot have';
}
