// web.hook.*: whom to tell, of what, and how.

import {
  byteSize,
  durationMs,
  existingFile,
  filterFault,
  headerKey,
  headerValue,
  int,
  type Key,
  key,
  oneOf,
  optionalKey,
  type PluginValues,
  readHeaders,
  truth,
  type ValueType,
} from '#sdk';

export const events = [
  'client.connected',
  'client.disconnected',
  'client.subscribe',
  'client.unsubscribe',
  'session.created',
  'session.subscribed',
  'session.unsubscribed',
  'session.terminated',
  'message.publish',
  'message.deliver',
  'message.acked',
] as const;
export type HookEvent = (typeof events)[number];

/** These carry a topic, or a filter that is taken for one. */
const withTopic: ReadonlySet<HookEvent> = new Set([
  'client.subscribe',
  'client.unsubscribe',
  'session.subscribed',
  'session.unsubscribed',
  'message.publish',
  'message.deliver',
  'message.acked',
]);

export type PayloadEncoding = 'plain' | 'base64' | 'base62';

export interface WebHookSettings {
  readonly url: string;
  readonly encoding: PayloadEncoding;
  readonly headers: Readonly<Record<string, string>>;
  /** Of the signature; undefined: there is none. */
  readonly secret: string | undefined;
  readonly requestTimeoutMs: number;
  readonly connectTimeoutMs: number;
  readonly poolSize: number;
  readonly queueMax: number;
  readonly queueBytesMax: number;
  /** Of an https server. */
  readonly tls: TlsSettings;
  /** Events that are told, with the filters of topics; undefined: all topics. */
  readonly rules: readonly (readonly [HookEvent, readonly string[] | undefined])[];
}

export interface TlsSettings extends TlsFiles {
  readonly isVerified: boolean;
}

interface TlsFiles {
  readonly caFile: string | undefined;
  readonly certFile: string | undefined;
  readonly keyFile: string | undefined;
}

export function metricOf(event: HookEvent): string {
  return `web_hook.${event.replace('.', '_')}`;
}

const httpUrl: ValueType<string> = {
  expects: 'a URL such as http://127.0.0.1:8080, without user and password',
  parse(written) {
    if (!/^https?:\/\/[^\s#]+$/.test(written) || !URL.canParse(written)) return undefined;
    const { username, password } = new URL(written);
    return username === '' && password === '' ? written : undefined;
  },
};

interface HookRule {
  readonly action: string;
  readonly topic: string | undefined;
}

const hookRule: ValueType<HookRule> = {
  expects: '{"action": "on_<class>_<event>"}, with "topic": "<filter>" where the event has one',
  parse(written) {
    let value: unknown;
    try {
      value = JSON.parse(written);
    } catch {
      return undefined;
    }
    if (typeof value !== 'object' || value === null) return undefined;
    const { action, topic, ...others } = value as Readonly<Record<string, unknown>>;
    if (typeof action !== 'string' || Object.keys(others).length > 0) return undefined;
    if (topic === undefined) return { action, topic };
    return typeof topic === 'string' && filterFault(topic) === undefined
      ? { action, topic }
      : undefined;
  },
};

const ruleKey = optionalKey<HookRule>('web.hook.rule.(client|session|message).$.<n>', hookRule, {
  shipped: Object.fromEntries(
    events.map((event) => [`${event}.1`, `{"action": "on_${event.replace('.', '_')}"}`]),
  ),
  text:
    'An event that the web server is told, one POST for each. With several rules for one event one of ' +
    'their topic filters has to match.',
});

const headersKey = headerKey('web.hook.headers.$');

const valueKeys = {
  url: key<string>('web.hook.api.url', httpUrl, 'http://127.0.0.1:8080', {
    shipped: 'http://127.0.0.1:8080',
    text: 'The web server that is told.',
  }),
  laterUrl: optionalKey<string>('web.hook.url', httpUrl, {
    sample: 'http://127.0.0.1:8080',
    text: 'The same, as later versions write it. Stands before the other where both are set.',
  }),
  encoding: key<PayloadEncoding>(
    'web.hook.encode_payload',
    oneOf('plain', 'base64', 'base62'),
    'plain',
    {
      sample: 'base64',
      text:
        'How payloads are written. plain: as they are; one that is not UTF-8 is written in base64, and ' +
        '"encoding": "base64" stands beside it.',
    },
  ),
  secret: optionalKey<string>('web.hook.secret', headerValue, {
    text:
      'Signs every request: header x-webhook-signature is sha256= and the HMAC-SHA256, in hexadecimal, of the ' +
      'header x-webhook-timestamp (seconds), a dot and the body.',
  }),
  requestTimeoutMs: key<number>('web.hook.request_timeout', durationMs(1), '5s', {
    shipped: '5s',
    text: 'How long one request may take.',
  }),
  connectTimeoutMs: key<number>('web.hook.connect_timeout', durationMs(1), '5s', {
    shipped: '5s',
    text: 'How long it may take to connect.',
  }),
  poolSize: key<number>('web.hook.pool_size', int(1, 1024), '32', {
    shipped: '32',
    text: 'Requests under way at once, for each worker. Those of one client are sent one after the other.',
  }),
  queueMax: key<number>('web.hook.max_pending', int(1, 1_000_000), '10000', {
    shipped: '10000',
    text: 'Events that may wait, for each worker. One more is dropped and counted.',
  }),
  queueBytesMax: key<number>('web.hook.max_pending_bytes', byteSize(1024, 2 ** 32), '64MB', {
    shipped: '64MB',
    text: 'How much memory they may take.',
  }),
};

const fileKeys = {
  caFile: optionalKey<string>('web.hook.ssl.cacertfile', existingFile, {
    sample: 'etc/certs/ca.pem',
    text: 'Authorities that the certificate of an https server is checked with, in place of those of the runtime.',
  }),
  certFile: optionalKey<string>('web.hook.ssl.certfile', existingFile, {
    sample: 'etc/certs/client-cert.pem',
    text: 'Certificate that the broker shows to an https server. Needs web.hook.ssl.keyfile.',
  }),
  keyFile: optionalKey<string>('web.hook.ssl.keyfile', existingFile, {
    sample: 'etc/certs/client-key.pem',
    text: 'Key of that certificate.',
  }),
};

const verifyKey = key<boolean>('web.hook.ssl.verify', truth, 'true', {
  sample: 'true',
  text: 'Whether the certificate of an https server is checked. false believes whoever answers.',
});

export const configKeys: readonly (Readonly<Record<string, Key<unknown>>> | Key<unknown>)[] = [
  valueKeys,
  fileKeys,
  verifyKey,
  headersKey,
  ruleKey,
];

export function readSettings(values: PluginValues): WebHookSettings {
  const { url, laterUrl, ...others } =
    values.read<{
      [F in keyof typeof valueKeys]: (typeof valueKeys)[F] extends Key<infer T> ? T : never;
    }>(valueKeys);
  const headers = readHeaders(values, headersKey);
  const rules = readRules(values);
  return { ...others, url: laterUrl ?? url, headers, tls: readTls(values), rules };
}

function readTls(values: PluginValues): TlsSettings {
  const { caFile, certFile, keyFile } = values.read<TlsFiles>(fileKeys);
  if ((certFile === undefined) !== (keyFile === undefined)) {
    const [there, other] =
      certFile === undefined
        ? [fileKeys.keyFile, fileKeys.certFile]
        : [fileKeys.certFile, fileKeys.keyFile];
    const text = `Cannot use ${there.pattern} alone: expected ${other.pattern} as well`;
    values.problem(there.pattern, text);
  }
  const path = (file: string | undefined): string | undefined =>
    file === undefined ? undefined : values.path(file);
  return {
    ...{ caFile: path(caFile), certFile: path(certFile), keyFile: path(keyFile) },
    isVerified: values.get(verifyKey),
  };
}

function readRules(values: PluginValues): WebHookSettings['rules'] {
  const rules = new Map<HookEvent, readonly string[] | undefined>();
  for (const { key: written, names, value } of values.lines(ruleKey)) {
    if (value === undefined) continue;
    const [kind = '', name = ''] = names;
    // The documentation has always said `delivered`.
    const event = events.find((one) => one === `${kind}.${name.replace(/^delivered$/, 'deliver')}`);
    if (event === undefined) {
      values.problem(written, `Cannot tell ${kind}.${name}: expected one of ${events.join(', ')}`);
      continue;
    }
    const wanted = `on_${event.replace('.', '_')}`;
    if (value.action.replace(/delivered$/, 'deliver') !== wanted) {
      values.problem(written, `Cannot use action "${value.action}": expected "${wanted}"`);
    }
    if (value.topic !== undefined && !withTopic.has(event)) {
      values.problem(written, `Cannot use a topic for ${event}: expected none, it has no topic`);
    }
    const before = rules.get(event);
    const isAll = value.topic === undefined || (rules.has(event) && before === undefined);
    rules.set(event, isAll ? undefined : [...(before ?? []), value.topic ?? '']);
  }
  return [...rules];
}
