// The hooks of the plugin. Laws: what is no token is left to others; a token that is not good is refused,
// whoever else would let its bearer in; neither a token nor a part of it gets into a log.

import { type AuthVerdict, type Credentials, Reason, type WorkerPart } from '#sdk';
import { isGranted, type TopicGrant } from './acl-claim.ts';
import { admit, grantName } from './claims.ts';
import type { Settings } from './config.ts';
import type { SharedKeys } from './public-keys.ts';
import { readHeader, type TokenHeader } from './token.ts';
import { TokenRefused } from './token-refused.ts';
import { TokenVerifier } from './token-verifier.ts';

const worker: WorkerPart<Settings> = (ctx) => {
  const { settings, clock, log } = ctx;
  const isUsername = settings.from === 'username';
  const refresh = async (): Promise<boolean> => (await ctx.ask('refresh')) === true;
  const verifier = new TokenVerifier({ settings, clock, refresh });
  ctx.onShared((keys) => verifier.useKeys(keys as SharedKeys));

  const judge = async (
    token: string,
    header: TokenHeader,
    shown: Credentials,
  ): Promise<AuthVerdict> => {
    try {
      const verdict = admit(await verifier.verify(token, header), settings, shown);
      ctx.count('auth.jwt.success');
      return verdict;
    } catch (error) {
      if (!(error instanceof TokenRefused)) throw error;
      ctx.count('auth.jwt.failure');
      const { word: reason, message: detail, text } = error;
      log.info('jwt.refused', { clientId: shown.clientId, reason, detail });
      const isOurs = reason === 'keys_unavailable';
      const reasonCode = isOurs ? Reason.serverUnavailable : Reason.notAuthorized;
      return { allow: false, reasonCode, text, ...(isUsername && { username: null }) };
    }
  };

  ctx.hooks.on('client.authenticate', (shown) => {
    const token = isUsername ? shown.username : shown.password?.toString();
    const header = token === undefined ? undefined : readHeader(token);
    if (token !== undefined && header !== undefined) return judge(token, header, shown);
    ctx.count('auth.jwt.ignore');
    return 'ignore';
  });

  ctx.hooks.on('client.check_acl', (client, action, topic) => {
    const grant = client.grant?.[grantName] as TopicGrant | undefined;
    const answer =
      grant === undefined ? 'ignore' : isGranted(grant, client, action, topic) ? 'allow' : 'deny';
    ctx.count(`acl.jwt.${answer}`);
    return answer;
  });
};

export default worker;
