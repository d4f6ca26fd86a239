// The keys of the plugin and what they come to. Which keys tokens are verified with is checked when the
// plugin starts: the configuration of plugins that are not loaded is read as well, and that of this one
// as it is shipped names none, because a secret that everybody knows would be an open door.

import {
  durationMs,
  existingFile,
  flag,
  type Key,
  key,
  oneOf,
  optionalKey,
  type PluginConfig,
  type PluginValues,
  text,
  type ValueType,
} from '#sdk';
import { type Algorithm, algorithms } from './algorithms.ts';

export interface JwksSettings {
  readonly url: string;
  readonly intervalMs: number;
  readonly cooldownMs: number;
  readonly staleMs: number;
  readonly caFile: string | undefined;
}

export interface Settings {
  readonly from: 'password' | 'username';
  readonly secret: string | undefined;
  /** Absolute. */
  readonly publicKeyFile: string | undefined;
  readonly jwks: JwksSettings | undefined;
  readonly algorithms: readonly Algorithm[];
  /** What tokens must say, by the name of the claim. */
  readonly expected: readonly (readonly [claim: string, value: string])[];
  readonly leewayMs: number;
  readonly endsWithToken: boolean;
  readonly usernameClaim: string | undefined;
  readonly superuserClaim: string | undefined;
  readonly aclClaim: string;
}

const urlType: ValueType<string> = {
  expects: 'an http or https URL without a username',
  parse(value) {
    const url = URL.parse(value);
    if (url === null || !/^https?:$/.test(url.protocol) || url.hostname === '') return undefined;
    return url.username === '' && url.password === '' ? value : undefined;
  },
};

const algorithmsType: ValueType<readonly Algorithm[]> = {
  expects: `a list of ${algorithms.join(', ')}, separated by commas`,
  parse(value) {
    const found = value.split(',').map((word) => algorithms.find((one) => one === word.trim()));
    return found.every((one) => one !== undefined) ? found : undefined;
  },
};

const secondMs = 1000;
const dayMs = 86_400_000;

const keys = {
  from: key<'password' | 'username'>('auth.jwt.from', oneOf('password', 'username'), 'password', {
    shipped: 'password',
    text: 'Which field of CONNECT is the token. A token in the username is not kept as the username; see auth.jwt.username_claim.',
  }),
  secret: optionalKey<string>('auth.jwt.secret', text(), {
    sample: '', // one that works would be a secret that everybody knows
    text: 'The secret of tokens that are signed with HS256, HS384 or HS512. At least 32 random characters. One of secret, pubkey and jwks is required; there is no default.',
  }),
  pubkey: optionalKey<string>('auth.jwt.pubkey', existingFile, {
    sample: 'etc/certs/jwt_public_key.pem',
    text: 'A file of up to 8 public keys or certificates (PEM) for tokens that are signed with RS256 to RS512 or ES256 to ES512. It is read again when it changes; while it cannot be read, the keys of before hold.',
  }),
  jwks: optionalKey<string>('auth.jwt.jwks', urlType, {
    sample: 'https://issuer.example.com/.well-known/jwks.json',
    text: 'Where the issuer publishes its public keys (a JSON Web Key Set). Redirects are not followed.',
  }),
  jwksInterval: key<number>('auth.jwt.jwks.interval', durationMs(10 * secondMs, 7 * dayMs), '5m', {
    shipped: '5m',
    text: 'How often the key set is fetched. A key that the issuer has taken out is refused after that.',
  }),
  jwksCooldown: key<number>('auth.jwt.jwks.cooldown', durationMs(secondMs, dayMs), '30s', {
    shipped: '30s',
    text: 'A token of an unknown key makes the broker fetch the key set at once, but not more often than this. Also how soon a fetch that failed is tried again.',
  }),
  jwksStale: key<number>('auth.jwt.jwks.max_stale', durationMs(secondMs, 24 * dayMs), '1d', {
    shipped: '1d',
    text: 'How long the keys that were fetched last hold while the issuer cannot be reached.',
  }),
  jwksCa: optionalKey<string>('auth.jwt.jwks.cacertfile', existingFile, {
    sample: 'etc/certs/issuer-ca.pem',
    text: 'Certificate authorities (PEM) for the https server of the key set, in place of the well-known ones.',
  }),
  algorithms: optionalKey<readonly Algorithm[]>('auth.jwt.algorithms', algorithmsType, {
    sample: 'RS256,ES256',
    text: 'Signatures that are accepted. Unset: all that the configured keys allow.',
  }),
  leeway: key<number>('auth.jwt.leeway', durationMs(0, 3600 * secondMs), '0s', {
    shipped: '0s',
    text: "By how much the issuer's clock may differ where exp, nbf and iat are checked.",
  }),
  expiry: key<'disconnect' | 'ignore'>(
    'auth.jwt.expiry',
    oneOf('disconnect', 'ignore'),
    'disconnect',
    {
      shipped: 'disconnect',
      text: 'What becomes of a connection whose token expires: it ends (MQTT 5: DISCONNECT 0xA0), or it goes on.',
    },
  ),
  verifyClaims: key<boolean>('auth.jwt.verify_claims', flag, 'off', {
    shipped: 'off',
    text: 'Whether claims of the token must have the values below. Without it, or auth.jwt.username_claim, a valid token is good for any username and client id.',
  }),
  usernameClaim: optionalKey<string>('auth.jwt.username_claim', text(), {
    sample: 'sub',
    text: "The claim that becomes the client's username, in place of that of CONNECT; a token without it is refused. Unset: with auth.jwt.from = username the claim sub, where there is one.",
  }),
  superuserClaim: optionalKey<string>('auth.jwt.superuser_claim', text(), {
    sample: 'is_superuser',
    text: 'The claim that makes a superuser where it is true. Unset: tokens make none.',
  }),
  aclClaim: key<string>('auth.jwt.acl_claim', text(), 'acl', {
    shipped: 'acl',
    text: 'The claim with the topics of the client: {"pub": [filters], "sub": [filters], "all": [filters]}, with %c and %u as whole levels. Whoever has it may do that and nothing else; a token without it leaves access control to others.',
  }),
} satisfies Record<string, Key<unknown>>;

const expectedKey = optionalKey<string>('auth.jwt.verify_claims.$', text(), {
  sample: '%u',
  sampleNames: 'username',
  text: 'What the claim of this name must be: %u the username, %c the client id, else the text itself. Of a list one element must be it.',
});

export const config: PluginConfig<Settings> = {
  keys: [keys, expectedKey],
  read(values: PluginValues): Settings {
    const publicKeyFile = values.get(keys.pubkey);
    const usernameClaim = values.get(keys.usernameClaim);
    return {
      from: values.get(keys.from),
      secret: values.get(keys.secret),
      publicKeyFile: publicKeyFile === undefined ? undefined : values.path(publicKeyFile),
      jwks: readJwks(values),
      algorithms: values.get(keys.algorithms) ?? algorithms,
      expected: readExpected(values),
      leewayMs: values.get(keys.leeway),
      endsWithToken: values.get(keys.expiry) === 'disconnect',
      usernameClaim,
      superuserClaim: values.get(keys.superuserClaim),
      aclClaim: values.get(keys.aclClaim),
    };
  },
};

function readJwks(values: PluginValues): JwksSettings | undefined {
  const url = values.get(keys.jwks);
  if (url === undefined) return undefined;
  const caFile = values.get(keys.jwksCa);
  return {
    url,
    intervalMs: values.get(keys.jwksInterval),
    cooldownMs: values.get(keys.jwksCooldown),
    staleMs: values.get(keys.jwksStale),
    caFile: caFile === undefined ? undefined : values.path(caFile),
  };
}

function readExpected(values: PluginValues): (readonly [string, string])[] {
  if (!values.get(keys.verifyClaims)) return [];
  const lines = values.lines(expectedKey);
  if (lines.length === 0) {
    const text = 'Cannot verify claims: found no auth.jwt.verify_claims.<name>, want at least one';
    values.problem(keys.verifyClaims.pattern, text);
  }
  return lines.map(({ key: written, names: [name = ''], value = '' }) => {
    if (value === '%u' && values.get(keys.from) === 'username') {
      values.problem(
        written,
        'Cannot compare with %u: with auth.jwt.from = username it is the token',
      );
    }
    return [name, value];
  });
}
