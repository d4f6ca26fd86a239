// Enhanced authentication (MQTT 5): the client and the `client.enhanced_auth` hook talk in AUTH
// packets until the hook says yes or no. The same exchange runs at CONNECT, before there is a
// session, and later when a connected client authenticates again.

import { Reason } from '#wire/reason-codes';
import type { AuthAnswer } from '#hooks/table';
import type { AuthExchange, AuthOutcome } from './auth-exchange.ts';
import type { Channel } from './channel.ts';
import type { ConnectAttempt } from './connect-attempt.ts';
import type { Wait } from './ports.ts';

const failed: AuthOutcome = {
  allow: false,
  reasonCode: Reason.serverUnavailable,
  text: 'Cannot authenticate: the authentication service failed',
};

/** The first step, with what CONNECT brought. `resume` goes on with the CONNECT after a yes. */
export function beginEnhancedAuth(
  attempt: ConnectAttempt,
  resume: (attempt: ConnectAttempt) => Wait,
): Wait {
  const { channel, packet, credentials } = attempt;
  const { authMethod, authData } = packet.properties;
  // The stages of CONNECT end here; whatever the outcome, `settle` knows how to go on.
  attempt.settle();
  channel.auth = {
    method: authMethod as string,
    credentials,
    isReauthentication: false,
    exchange: {},
    settle: (outcome) => {
      channel.auth = undefined;
      if (outcome.allow) {
        attempt.authData = outcome.data;
        attempt.isSuperuser = outcome.isSuperuser ?? false;
        if (outcome.username !== undefined) attempt.adopt(outcome.username);
        return resume(attempt);
      }
      const text = outcome.text ?? 'Cannot connect: authentication failed';
      attempt.refuse(outcome.reasonCode, text); // [MQTT-4.12.0-4]
      return undefined;
    },
  };
  return takeStep(channel, authData);
}

/** Asks the hook about one message of the client: on with the talk, or its end. */
export function takeStep(channel: Channel, data: Buffer | undefined): Wait {
  const auth = channel.auth as AuthExchange;
  const { method, credentials, isReauthentication, exchange } = auth;
  const settle = (answer: AuthAnswer | 'ignore'): Wait => {
    if (channel.state === 'closed') return undefined;
    if (answer === 'ignore') {
      const text = `Cannot authenticate by "${method}": the method is not supported`;
      // [MQTT-4.12.0-1]
      return auth.settle({ allow: false, reasonCode: Reason.badAuthenticationMethod, text });
    }
    if (!('continue' in answer)) return auth.settle(answer);
    sendAuth(channel, method, Reason.continueAuthentication, answer.data); // [MQTT-4.12.0-2]
    return undefined;
  };
  const answer = channel.core.hooks.ask('client.enhanced_auth', failed, {
    method,
    data,
    credentials,
    isReauthentication,
    exchange,
  });
  return answer instanceof Promise ? answer.then(settle) : settle(answer);
}

/** Always with the method [MQTT-4.12.0-5]. */
export function sendAuth(
  channel: Channel,
  method: string,
  reasonCode: number,
  data: Buffer | undefined,
): void {
  channel.send({
    type: 'auth',
    reasonCode,
    properties: { authMethod: method, ...(data !== undefined && { authData: data }) },
  });
}
