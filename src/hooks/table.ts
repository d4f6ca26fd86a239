// Every extension point of the broker: its name, what it is given, what it may answer. Three kinds:
// *told* hooks learn that something happened; *asked* hooks decide (first answer that is not
// 'ignore' wins); *folded* hooks may change what goes on down the path. Add a hook here or nowhere.

import type { Properties, ProtocolVersion, QoS, SubscribeFilter } from '#wire/packet';

/** A connected client as hooks see it. One object per connection: compare by identity if useful. */
export interface ClientInfo {
  readonly clientId: string;
  readonly username: string | undefined;
  readonly address: string;
  readonly port: number;
  readonly zone: string;
  /** `mqtt:tcp`, `mqtt:ssl`, … */
  readonly listener: string;
  readonly version: ProtocolVersion;
  readonly protocolName: 'MQIsdp' | 'MQTT';
  readonly isBridge: boolean;
  readonly cleanStart: boolean;
  readonly keepaliveSeconds: number;
  readonly mountpoint: string;
  readonly isSuperuser: boolean;
  readonly isAnonymous: boolean;
  readonly connectedAtMs: number;
  /** Of the listener's socket and of the client's certificate; absent where nobody is connected. */
  readonly localAddress?: string;
  readonly localPort?: number;
  readonly commonName?: string | undefined;
  readonly distinguishedName?: string | undefined;
  /** When its right to be connected ends, and the connection with it; undefined: never. */
  readonly expiresAtMs?: number | undefined;
  /** What the plugin that let it in keeps with it. */
  readonly grant?: ClientGrant | undefined;
}

/** Plain data by the name of the plugin that it belongs to; nobody else reads it. */
export type ClientGrant = Readonly<Record<string, unknown>>;

/** What a client showed when it connected. Held only while authentication runs. */
export interface Credentials {
  readonly clientId: string;
  readonly username: string | undefined;
  readonly password: Buffer | undefined;
  readonly address: string;
  readonly port: number;
  readonly localPort: number;
  readonly zone: string;
  readonly listener: string;
  readonly version: ProtocolVersion;
  readonly wsCookie: string | undefined;
  readonly commonName: string | undefined;
  readonly distinguishedName: string | undefined;
}

/** `reasonCode` is an MQTT 5 code; CONNACKs of older versions get its nearest relative. */
export type AuthVerdict =
  | {
      readonly allow: true;
      readonly isSuperuser?: boolean;
      readonly mountpoint?: string;
      readonly username?: ProvenName;
      readonly expiresAtMs?: number;
      readonly grant?: ClientGrant;
    }
  | {
      readonly allow: false;
      readonly reasonCode: number;
      readonly text?: string;
      readonly username?: ProvenName;
    };

/** Who the client is, in place of what CONNECT says, which may be a secret; null: it has no name. */
export type ProvenName = string | null;

/** One AUTH (or CONNECT) of an enhanced authentication; `exchange` is new for every exchange. */
export interface AuthStep {
  readonly method: string;
  readonly data: Buffer | undefined;
  readonly credentials: Credentials;
  readonly isReauthentication: boolean;
  /** A place for the handler's own state between the steps of one exchange. */
  readonly exchange: { state?: unknown };
}
export type AuthAnswer =
  | { readonly continue: true; readonly data?: Buffer }
  | {
      readonly allow: true;
      readonly data?: Buffer;
      readonly isSuperuser?: boolean;
      /** Who the client proved to be, in place of what CONNECT says. At CONNECT only. */
      readonly username?: string;
    }
  | { readonly allow: false; readonly reasonCode: number; readonly text?: string };

/** unavailable: no, because nobody could tell; asked again the next time, where a `deny` is remembered. */
export type AclAnswer = 'allow' | 'deny' | 'ignore' | 'unavailable';

/** Who published a message, as it was then. */
export type PastPublisher = Pick<ClientInfo, 'clientId' | 'username' | 'address'>;

/** By what a client can be banned. */
export interface BanSubject {
  readonly clientId: string;
  readonly usernames: readonly string[];
  readonly address: string;
}

/** A message as hooks see it; core's Message is one. */
export interface MessageView {
  readonly id: string;
  readonly topic: string;
  readonly payload: Buffer;
  readonly qos: QoS;
  readonly retain: boolean;
  readonly properties: Properties | undefined;
  readonly clientId: string;
  readonly username: string | undefined;
  readonly timestampMs: number;
  /** Where its publisher was connected from; '' and 0 for one inside of the broker. */
  readonly address?: string;
  readonly port?: number;
  /** How many rules have published it, one after the other; see WorkerContext.publish. */
  readonly hops?: number;
  /** What `topic` begins with because of its client, and the client did not write. Known where it came in. */
  readonly mountpoint?: string | undefined;
}
/** What a folding hook may change; everything else stays. */
export interface MessageChange {
  readonly topic?: string;
  readonly payload?: Buffer;
  readonly qos?: QoS;
  readonly retain?: boolean;
  readonly properties?: Properties;
}

/** Not accepted: the client is told this MQTT 5 code where its version has a word for it. */
export interface MessageRefusal {
  readonly refuse: number;
  readonly text: string;
  /**
   * The message should have been accepted, and could not be: a client that cannot be told so loses its
   * connection, and sends it again.
   */
  readonly isFault?: boolean;
}

export type DropReason =
  | 'no_subscribers'
  | 'queue_full'
  | 'outbox_full'
  | 'expired'
  | 'no_local'
  | 'too_large'
  | 'qos0_offline'
  | 'session_ended'
  | 'refused_by_hook'
  | 'store_failed'
  | 'not_authorized';

export interface SubscriptionView {
  readonly filter: string;
  readonly qos: QoS;
  readonly noLocal: boolean;
  readonly retainAsPublished: boolean;
  readonly retainHandling: 0 | 1 | 2;
  readonly isNew: boolean;
}

/** Whom a message goes to, as hooks see it; core's Route is one. */
export interface RouteView {
  readonly deliveries: readonly {
    readonly session: { readonly clientId: string };
    readonly qos: QoS;
  }[];
  /** Shared subscriptions: one member of each. */
  readonly groups: readonly { readonly name: string; readonly filter: string }[];
  /** Other workers, which have subscribers of their own. */
  readonly peers: readonly { readonly peer: { readonly index: number } }[];
}

type Answer<T> = T | Promise<T>;

export interface HookTable {
  // asked
  'tls_handshake.psk_lookup': (identity: string) => Buffer | 'ignore';
  /** Only in zones with `enable_ban`. */
  'client.check_ban': (subject: BanSubject) => 'banned' | 'ignore';
  'client.authenticate': (credentials: Credentials) => Answer<AuthVerdict | 'ignore'>;
  'client.enhanced_auth': (step: AuthStep) => Answer<AuthAnswer | 'ignore'>;
  'client.check_acl': (
    client: ClientInfo,
    action: 'publish' | 'subscribe',
    topic: string,
  ) => Answer<AclAnswer>;
  /**
   * Whether who published a retained message could still do so: asked, with `acl.recheck`, before a new
   * subscriber is given it. Whoever hooks `client.check_acl` and can tell at once hooks this too, by the
   * same owner, and answers as it would there ('allow' included: where all ignore, acl_nomatch decides).
   * They are asked in the order of `client.check_acl`; one that does not hook this cannot be asked, and
   * the message is handed out. `topic` is without mountpoint.
   */
  'message.check_retained': (
    publisher: PastPublisher,
    topic: string,
  ) => Exclude<AclAnswer, 'unavailable'>;

  // folded: `undefined` leaves the value as it is
  'client.subscribe': (
    client: ClientInfo,
    filters: readonly SubscribeFilter[],
  ) => Answer<readonly SubscribeFilter[] | undefined>;
  'client.unsubscribe': (
    client: ClientInfo,
    filters: readonly string[],
  ) => Answer<readonly string[] | undefined>;
  /** taken: the listener will see to it, and whoever sent it is told that it was accepted. */
  'message.publish': (
    message: MessageView,
  ) => Answer<MessageChange | MessageRefusal | 'drop' | 'taken' | undefined>;
  /** Runs inside the delivery of every single copy, therefore never asynchronous. */
  'message.deliver': (
    client: ClientInfo,
    message: MessageView,
  ) => MessageChange | 'drop' | undefined;

  // told
  /** Also for refused connects, with the reason code that the client was given. */
  'client.connected': (client: ClientInfo, reasonCode: number) => void;
  'client.disconnected': (client: ClientInfo, reason: string) => void;
  'session.created': (client: ClientInfo) => void;
  'session.resumed': (client: ClientInfo) => void;
  'session.subscribed': (client: ClientInfo, subscription: SubscriptionView) => void;
  'session.unsubscribed': (client: ClientInfo, filter: string) => void;
  'session.terminated': (clientId: string, username: string | undefined, reason: string) => void;
  /** Access control said no: to a publish, a subscription, a will. */
  'client.denied': (client: ClientInfo, action: 'publish' | 'subscribe', topic: string) => void;
  /** From a client or from inside, before anything is checked. `isRepeated`: QoS 2 that is here already. */
  'message.received': (message: MessageView, isRepeated: boolean) => void;
  /** Not accepted, with what the client is told where its version has a word for it. */
  'message.refused': (message: MessageView, reasonCode: number, text: string) => void;
  /** Accepted, as hooks have changed it, and about to go to those on its route. */
  'message.routed': (message: MessageView, route: RouteView) => void;
  'message.queued': (clientId: string, message: MessageView) => void;
  /** Written to a client. `isAgain`: it may have had it before. */
  'message.sent': (client: ClientInfo, message: MessageView, qos: QoS, isAgain: boolean) => void;
  'message.acked': (client: ClientInfo, message: MessageView) => void;
  'message.dropped': (
    message: MessageView,
    reason: DropReason,
    clientId: string | undefined,
  ) => void;
}

export type HookName = keyof HookTable;
export type ToldHook =
  | 'client.connected'
  | 'client.disconnected'
  | `session.${'created' | 'resumed' | 'subscribed' | 'unsubscribed' | 'terminated'}`
  | 'client.denied'
  | `message.${'received' | 'refused' | 'routed' | 'queued' | 'sent' | 'acked' | 'dropped'}`;
export type AskedHook =
  | 'tls_handshake.psk_lookup'
  | 'client.check_ban'
  | 'client.authenticate'
  | 'client.enhanced_auth'
  | 'client.check_acl'
  | 'message.check_retained';

export const hookNames: readonly HookName[] = [
  'tls_handshake.psk_lookup',
  'client.check_ban',
  'client.authenticate',
  'client.enhanced_auth',
  'client.check_acl',
  'message.check_retained',
  'client.subscribe',
  'client.unsubscribe',
  'message.publish',
  'message.deliver',
  'client.connected',
  'client.disconnected',
  'session.created',
  'session.resumed',
  'session.subscribed',
  'session.unsubscribed',
  'session.terminated',
  'client.denied',
  'message.received',
  'message.refused',
  'message.routed',
  'message.queued',
  'message.sent',
  'message.acked',
  'message.dropped',
];
