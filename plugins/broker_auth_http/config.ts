// auth.http.*: whom to ask, what to say, and how long to wait for an answer.

import {
  decimalAbove,
  durationMs,
  existingFile,
  headerKey,
  int,
  type Key,
  key,
  oneOf,
  optionalKey,
  type PluginValues,
  readHeaders,
  type ValueType,
} from '#sdk';
import { type Param, type Placeholder, parseParams } from './params.ts';

export type Method = 'get' | 'post' | 'put';
export type BodyKind = 'form' | 'json';

export interface EndpointSettings {
  readonly url: string;
  readonly method: Method;
  readonly params: readonly Param[];
  /** Of requests that have a body. */
  readonly bodyKind: BodyKind;
}

export interface TlsFiles {
  readonly caFile: string | undefined;
  readonly certFile: string | undefined;
  readonly keyFile: string | undefined;
}

export interface HttpAuthSettings {
  /** Undefined: the plugin does not start. */
  readonly auth: EndpointSettings | undefined;
  readonly superuser: EndpointSettings | undefined;
  readonly acl: EndpointSettings | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: TlsFiles;
  /** 0: only the deadline of hooks holds. The same of the next. */
  readonly timeoutMs: number;
  readonly connectTimeoutMs: number;
  readonly retryTimes: number;
  readonly retryIntervalMs: number;
  readonly retryBackoff: number;
  readonly poolSize: number;
  readonly pendingMax: number;
  readonly breakerFailures: number;
  readonly breakerPauseMs: number;
}

const httpUrl: ValueType<string> = {
  expects: 'a URL such as http://127.0.0.1:8991/mqtt/auth, without user and password',
  parse(written) {
    if (!/^https?:\/\/[^\s#]+$/.test(written) || !URL.canParse(written)) return undefined;
    const { username, password } = new URL(written);
    return username === '' && password === '' ? written : undefined;
  },
};

/** `x-www-form-urlencoded` is how newer files write the first. */
const bodyKind: ValueType<BodyKind> = {
  name: 'enum',
  expects: 'one of form, json',
  choices: ['form', 'json'],
  parse: (written) =>
    written === 'form' || written === 'x-www-form-urlencoded'
      ? 'form'
      : written === 'json'
        ? written
        : undefined,
};

const ofClient: readonly Placeholder[] = ['%u', '%c', '%a', '%C', '%d', '%l'];
const atConnect: readonly Placeholder[] = [...ofClient, '%P'];
const ofRights: readonly Placeholder[] = [...ofClient, '%A', '%t', '%m'];

function paramsWith(allowed: readonly Placeholder[]): ValueType<readonly Param[]> {
  return {
    expects:
      'pairs name=value with commas between them, each name once, where a value is a text or one of ' +
      `${allowed.join(' ')}; a comma in a text is written \\, and a backslash \\\\`,
    parse: (written) => parseParams(written, allowed),
  };
}

interface EndpointKeys {
  readonly url: Key<string | undefined>;
  readonly method: Key<Method>;
  readonly params: Key<readonly Param[]>;
  readonly bodyKind: Key<BodyKind>;
}

interface EndpointWords {
  readonly name: 'auth_req' | 'super_req' | 'acl_req';
  readonly path: string;
  readonly method: Method;
  readonly params: string;
  readonly placeholders: readonly Placeholder[];
  readonly text: string;
}

function endpointKeys(words: EndpointWords): EndpointKeys {
  const { name, path, method, params } = words;
  const base = `auth.http.${name}`;
  return {
    url: optionalKey(base, httpUrl, {
      shipped: `http://127.0.0.1:8991/mqtt/${path}`,
      text: words.text,
    }),
    method: key<Method>(`${base}.method`, oneOf('get', 'post', 'put'), method, {
      shipped: method,
      text: 'get: the parameters stand in the query of the URL; post, put: in the body.',
    }),
    params: key(`${base}.params`, paramsWith(words.placeholders), params, {
      shipped: params,
      text:
        'What the request says. %u username, %c client id, %a address, %l port of the listener, %C common ' +
        'name and %d subject of the certificate' +
        (name === 'acl_req'
          ? '; %A 1 for a subscription and 2 for a publish, %t topic, %m mountpoint'
          : ', %P password') +
        '. Only a value that is exactly one of these is replaced; what a client does not have is empty.',
    }),
    bodyKind: key<BodyKind>(`${base}.content_type`, bodyKind, 'form', {
      sample: 'json',
      text: 'How the body of post and put is written: form is application/x-www-form-urlencoded.',
    }),
  };
}

const authKeys = endpointKeys({
  name: 'auth_req',
  path: 'auth',
  method: 'post',
  params: 'clientid=%c,username=%u,password=%P',
  placeholders: atConnect,
  text:
    'Asked for every client that connects. 200 lets it in, 200 with the body "ignore" leaves it to the ' +
    'next plugin, everything else refuses it.',
});

const superKeys = endpointKeys({
  name: 'super_req',
  path: 'superuser',
  method: 'post',
  params: 'clientid=%c,username=%u',
  placeholders: atConnect,
  text:
    'Asked for a client that was let in: 200 makes it a superuser, whose rights nobody checks. Without ' +
    'this line nobody is asked.',
});

const aclKeys = endpointKeys({
  name: 'acl_req',
  path: 'acl',
  method: 'get',
  params: 'access=%A,username=%u,clientid=%c,ipaddr=%a,topic=%t,mountpoint=%m',
  placeholders: ofRights,
  text:
    'Asked for publishes and subscriptions. 200 allows, 200 with the body "ignore" leaves it to the next ' +
    'plugin, everything else denies. Without this line nobody is asked.',
});

const headersKey = headerKey('auth.http.header.$');

const requestKeys = {
  timeoutMs: key<number>('auth.http.request.timeout', durationMs(), '5s', {
    shipped: '5s',
    text:
      'How long one request may take, connecting included. 0: as long as plugins.hook_deadline allows, ' +
      'which holds for all requests and repetitions of one decision together.',
  }),
  connectTimeoutMs: key<number>('auth.http.request.connect_timout', durationMs(), '5s', {
    shipped: '5s',
    text: 'How long it may take to connect, with the handshake of TLS. 0: as long as the request.',
  }),
  connectTimeoutRightMs: optionalKey<number>('auth.http.request.connect_timeout', durationMs(), {
    sample: '5s',
    text: 'The same, spelt right. Stands before the other where both are set.',
  }),
  retryTimes: key<number>('auth.http.request.retry_times', int(0, 10), '3', {
    shipped: '3',
    text: 'How often a request is repeated that got no answer. An answer is never asked for twice.',
  }),
  retryIntervalMs: key<number>('auth.http.request.retry_interval', durationMs(1), '1s', {
    shipped: '1s',
    text: 'Pause before the first repetition. None begins after plugins.hook_deadline.',
  }),
  retryBackoff: key<number>('auth.http.request.retry_backoff', decimalAbove(0, 100), '2.0', {
    shipped: '2.0',
    text: 'By what the pause is multiplied from one repetition to the next.',
  }),
  poolSize: key<number>('auth.http.pool_size', int(1, 10_000), '128', {
    shipped: '128',
    text: 'Requests under way at once, for each worker. Connections are kept open and used again.',
  }),
  pendingMax: key<number>('auth.http.max_pending', int(1, 1_000_000), '10000', {
    shipped: '10000',
    text:
      'Questions that may wait for an answer at once, for each worker, with those under way. One more is ' +
      'refused: the client is told that the server is busy.',
  }),
  breakerFailures: key<number>('auth.http.breaker.failures', int(1, 10_000), '10', {
    shipped: '10',
    text:
      'After so many requests in a row without an answer nobody is kept waiting any more: everything is ' +
      'refused at once, alarm auth_http_down is raised, and one request after another finds out whether the ' +
      'server is back.',
  }),
  breakerPauseMs: key<number>('auth.http.breaker.pause', durationMs(1), '5s', {
    shipped: '5s',
    text: 'How long after a failure the server is tried again.',
  }),
};

const tlsKeys = {
  caFile: optionalKey<string>('auth.http.ssl.cacertfile', existingFile, {
    sample: 'etc/certs/ca.pem',
    text:
      'Authorities that the certificate of an https server is checked with, in place of those of the ' +
      'runtime. It is always checked.',
  }),
  certFile: optionalKey<string>('auth.http.ssl.certfile', existingFile, {
    sample: 'etc/certs/client-cert.pem',
    text: 'Certificate that the broker shows to an https server.',
  }),
  keyFile: optionalKey<string>('auth.http.ssl.keyfile', existingFile, {
    sample: 'etc/certs/client-key.pem',
    text: 'Key of that certificate.',
  }),
};

export const configKeys: readonly (Readonly<Record<string, Key<unknown>>> | Key<unknown>)[] = [
  { ...authKeys },
  { ...superKeys },
  { ...aclKeys },
  headersKey,
  requestKeys,
  tlsKeys,
];

export function readSettings(values: PluginValues): HttpAuthSettings {
  const { connectTimeoutRightMs, ...request } =
    values.read<{
      [F in keyof typeof requestKeys]: (typeof requestKeys)[F] extends Key<infer T> ? T : never;
    }>(requestKeys);
  return {
    ...request,
    connectTimeoutMs: connectTimeoutRightMs ?? request.connectTimeoutMs,
    auth: readEndpoint(values, authKeys),
    superuser: readEndpoint(values, superKeys),
    acl: readEndpoint(values, aclKeys),
    headers: readHeaders(values, headersKey),
    tls: readTls(values),
  };
}

function readEndpoint(values: PluginValues, keys: EndpointKeys): EndpointSettings | undefined {
  const url = values.get(keys.url);
  if (url === undefined) return undefined;
  return {
    url,
    method: values.get(keys.method),
    params: values.get(keys.params),
    bodyKind: values.get(keys.bodyKind),
  };
}

function readTls(values: PluginValues): TlsFiles {
  const { caFile, certFile, keyFile } = values.read<TlsFiles>(tlsKeys);
  if ((certFile === undefined) !== (keyFile === undefined)) {
    const [present, missing] =
      certFile === undefined
        ? [tlsKeys.keyFile, tlsKeys.certFile]
        : [tlsKeys.certFile, tlsKeys.keyFile];
    values.problem(
      present.pattern,
      `Cannot use ${present.pattern} alone: expected ${missing.pattern} as well`,
    );
  }
  const path = (file: string | undefined) => (file === undefined ? undefined : values.path(file));
  return { caFile: path(caFile), certFile: path(certFile), keyFile: path(keyFile) };
}
