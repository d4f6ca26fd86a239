// The door and the rights, in every worker: what the servers say is turned into what hooks answer. Laws:
// without an answer nobody comes in and nothing is allowed, and what was denied only for that is asked
// again; words for clients never tell whether a user exists.

import {
  type AclAnswer,
  type AuthVerdict,
  type ClientInfo,
  type Credentials,
  describeError,
  Reason,
  type WorkerContext,
  type WorkerPart,
  workerPart,
} from '#sdk';
import { Asker, type NoAnswer } from './asker.ts';
import type { EndpointSettings, HttpAuthSettings } from './config.ts';
import { Endpoint } from './endpoint.ts';
import type { Subject } from './params.ts';
import { type Reading, readReply } from './reply.ts';

const part: WorkerPart<HttpAuthSettings> = workerPart<HttpAuthSettings>((ctx) => {
  const { settings } = ctx;
  const tellDown = (origins: readonly string[]): void => {
    ctx.ask('serversDown', ctx.worker, origins).catch((error: unknown) => {
      ctx.log.warn('auth_http.alarm_failed', { error: describeError(error) });
    });
  };
  const { clock, log, hookDeadlineMs } = ctx;
  const asker = new Asker({ settings, clock, log, hookDeadlineMs, onDown: tellDown });
  ctx.defer(() => asker.close());
  const decider = new Decider(ctx, asker);
  ctx.hooks.on('client.authenticate', (credentials) => decider.authenticate(credentials));
  if (settings.acl !== undefined) {
    ctx.hooks.on('client.check_acl', (client, action, topic) =>
      decider.checkAcl(client, action, topic),
    );
  }
  // What a former worker of this number found does not hold any longer.
  tellDown([]);
});

export default part;

const refusals = {
  denied: { allow: false, reasonCode: Reason.notAuthorized },
  badPassword: { allow: false, reasonCode: Reason.badUsernameOrPassword },
  unreachable: {
    allow: false,
    reasonCode: Reason.serverUnavailable,
    text: 'Cannot authenticate: the authentication service does not answer',
  },
  busy: {
    allow: false,
    reasonCode: Reason.serverBusy,
    text: 'Cannot authenticate: too many clients connect at once, try again later',
  },
} as const satisfies Record<string, AuthVerdict>;

/** By it `ClientInfo.grant` is read again. */
const grantName = 'broker_auth_http';

/** Users of this form are the broker's own; access by HTTP is none of their business. */
function isOwn({ username }: { readonly username: string | undefined }): boolean {
  return username?.startsWith('$') === true;
}

class Decider {
  readonly #ctx: WorkerContext<HttpAuthSettings>;
  readonly #asker: Asker;
  readonly #auth: Endpoint | undefined;
  readonly #superuser: Endpoint | undefined;
  readonly #acl: Endpoint | undefined;

  constructor(ctx: WorkerContext<HttpAuthSettings>, asker: Asker) {
    const { auth, superuser, acl, headers } = ctx.settings;
    const endpoint = (one: EndpointSettings | undefined): Endpoint | undefined =>
      one === undefined ? undefined : new Endpoint(one, headers);
    this.#ctx = ctx;
    this.#asker = asker;
    this.#auth = endpoint(auth);
    this.#superuser = endpoint(superuser);
    this.#acl = endpoint(acl);
  }

  async authenticate(credentials: Credentials): Promise<AuthVerdict | 'ignore'> {
    const verdict = await this.#judge(credentials);
    const outcome = verdict === 'ignore' ? 'ignore' : verdict.allow ? 'success' : 'failure';
    this.#ctx.count(`auth.http.${outcome}`);
    return verdict;
  }

  async #judge(credentials: Credentials): Promise<AuthVerdict | 'ignore'> {
    const untilMs = this.#asker.deadline();
    const said = await this.#ask(this.#auth, credentials, untilMs);
    if (said === 'unsayable') return refusals.badPassword;
    if (said === 'busy' || said === 'unreachable') return refusals[said];
    if (said.says === 'nonsense') return refusals.unreachable;
    if (said.says === 'ignore') return 'ignore';
    if (said.says === 'deny') return refusals.denied;
    const isSuperuser = said.isSuperuser ?? (await this.#isSuperuser(credentials, untilMs));
    const { mountpoint } = said;
    return {
      ...{ allow: true, isSuperuser },
      ...(mountpoint === undefined ? {} : { mountpoint }),
      ...(isOwn(credentials) ? { grant: { [grantName]: true } } : {}),
    };
  }

  /** Only who is said to be one is one. */
  async #isSuperuser(credentials: Credentials, untilMs: number): Promise<boolean> {
    if (this.#superuser === undefined) return false;
    const said = await this.#ask(this.#superuser, credentials, untilMs);
    return typeof said !== 'string' && said.says === 'allow' && said.isSuperuser !== false;
  }

  async checkAcl(
    client: ClientInfo,
    action: 'publish' | 'subscribe',
    topic: string,
  ): Promise<AclAnswer> {
    // Only where the service itself has said so: anybody can call himself by such a name.
    if (isOwn(client) && client.grant?.[grantName] === true) return this.#counted('ignore');
    const subject = { ...client, action, topic };
    const said = await this.#ask(this.#acl, subject, this.#asker.deadline());
    if (typeof said === 'string' || said.says === 'nonsense') return this.#counted('unavailable');
    if (said.says === 'deny') return this.#counted(said.isLasting ? 'deny' : 'unavailable');
    return this.#counted(said.says);
  }

  #counted(answer: AclAnswer): AclAnswer {
    this.#ctx.count(`acl.http.${answer === 'unavailable' ? 'deny' : answer}`);
    return answer;
  }

  async #ask(
    endpoint: Endpoint | undefined,
    subject: Subject,
    untilMs: number,
  ): Promise<Reading | NoAnswer | 'unsayable'> {
    if (endpoint === undefined) return 'unreachable';
    const question = endpoint.questionOf(subject);
    if (question === undefined) return 'unsayable';
    const reply = await this.#asker.ask(endpoint, question, untilMs);
    if (typeof reply === 'string') return reply;
    const said = readReply(reply);
    if (said.says === 'nonsense') {
      const { origin: server } = endpoint;
      this.#ctx.log.warn('auth_http.misunderstood', { server, fault: said.fault });
    }
    return said;
  }
}
