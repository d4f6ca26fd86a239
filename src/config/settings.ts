// The settings as the rest of the broker reads them: typed, frozen, units in the names. The table
// of keys (keys.ts and its parts) says how each one is written, checked and documented; load.ts
// turns file, environment and command line into this.

export interface Settings {
  readonly node: NodeSettings;
  readonly log: LogSettings;
  readonly broker: BrokerSettings;
  readonly modules: ModuleSettings;
  readonly monitor: MonitorSettings;
  readonly retainer: RetainerSettings;
  /** Every zone that a listener names or that has a key of its own. */
  readonly zones: ReadonlyMap<string, ZoneSettings>;
  readonly listeners: readonly ListenerSettings[];
  readonly management: ManagementSettings;
  readonly dashboard: DashboardSettings;
  readonly acl: AclSettings;
  readonly flapping: FlappingSettings;
  readonly pluginHost: PluginHostSettings;
  /** Of each plugin that was found, by name: what its own table of keys comes to. */
  readonly plugins: ReadonlyMap<string, unknown>;
}

export interface AclSettings {
  /** The file of access rules; undefined: there are none. */
  readonly file: string | undefined;
  /** Whether decisions are remembered, how many for each client, and how long. */
  readonly isCached: boolean;
  readonly cacheMax: number;
  readonly cacheTtlMs: number;
  /** Whether new rules are applied to what there is: live subscriptions, waiting and retained messages. */
  readonly isRechecked: boolean;
}

export interface FlappingSettings {
  readonly cleanIntervalMs: number;
}

export interface PluginHostSettings {
  /** Where plugins of users lie; undefined: nowhere. */
  readonly dir: string | undefined;
  /** What the first start loads. */
  readonly loaded: readonly string[];
  /** A hook that is asked and has not answered by then has said no. */
  readonly hookDeadlineMs: number;
}

export interface NodeSettings {
  /** `<name>@<host>` */
  readonly name: string;
  readonly dataDir: string;
  /** Threads that serve clients; 0: the main thread does. */
  readonly workers: number;
  readonly maxClients: number;
  /** What waits for clients may take so much memory, all together. */
  readonly memoryBudget: MemoryBudget;
  /** A damaged store stops the start, or is set aside and an empty one begun. */
  readonly onCorruptStore: 'stop' | 'continue';
}

/** As written: a size, or a share of the machine's memory, which only the machine can turn into one. */
export type MemoryBudget = { readonly bytes: number } | { readonly share: number };

export type LogLevel =
  | 'debug'
  | 'info'
  | 'notice'
  | 'warning'
  | 'error'
  | 'critical'
  | 'alert'
  | 'emergency';

export interface LogSettings {
  readonly to: 'off' | 'file' | 'console' | 'both';
  readonly level: LogLevel;
  readonly dir: string;
  readonly file: string;
  /** Longest field of a line, in characters; -1: no limit. */
  readonly charsLimit: number;
  readonly rotationBytes: number;
  readonly rotationCount: number;
  /** A file of its own for one level and above: `log.<level>.file`. */
  readonly levelFiles: ReadonlyMap<LogLevel, string>;
}

export type SharedStrategy = 'random' | 'round_robin' | 'sticky' | 'hash';

export interface BrokerSettings {
  readonly sharedSubscriptionStrategy: SharedStrategy;
  /** QoS 1 and 2 go to a connected member with room in its window while there is one. */
  readonly sharedDispatchAckEnabled: boolean;
  /** Of the `$SYS` topics: figures, and uptime with the time of day. */
  readonly sysIntervalMs: number;
  readonly sysHeartbeatMs: number;
  /** Who may subscribe to them where nobody else decides: clients of this machine, or all. */
  readonly sysTopics: 'local' | 'all';
}

export interface ModuleSettings {
  /** Whether coming and going of clients is published under `$SYS`. */
  readonly presence: boolean;
  readonly presenceQos: 0 | 1 | 2;
  /** What every new session is subscribed to; empty: nothing, or the module is off. */
  readonly subscriptions: readonly ModuleSubscription[];
  /** In the order of their numbers; empty: none, or the module is off. */
  readonly rewriteRules: readonly RewriteRule[];
}

export interface ModuleSubscription {
  /** A filter in which `%c` and `%u` may stand for a level. */
  readonly topic: string;
  readonly qos: 0 | 1 | 2;
}

export interface RewriteRule {
  readonly number: number;
  readonly filter: string;
  readonly regex: string;
  /** In which `$1` stands for what the first group of the expression has found. */
  readonly dest: string;
}

/** As written: a size, or a share of what the heap of a thread may take at most. */
export type HeapLimit = { readonly bytes: number } | { readonly share: number };

/** What is watched, and from where on it is told. Watermarks are shares of 1; 0 ms: not watched. */
export interface MonitorSettings {
  readonly longGcMs: number;
  readonly longScheduleMs: number;
  readonly largeHeap: HeapLimit;
  readonly busyPort: boolean;
  readonly busyDistPort: boolean;
  readonly cpuCheckIntervalMs: number;
  readonly cpuHighWatermark: number;
  readonly cpuLowWatermark: number;
  readonly memCheckIntervalMs: number;
  readonly sysmemHighWatermark: number;
  readonly procmemHighWatermark: number;
  readonly diskHighWatermark: number;
  readonly vmCheckIntervalMs: number;
  readonly processHighWatermark: number;
  readonly processLowWatermark: number;
}

export interface RetainerSettings {
  /** 0: no limit. */
  readonly maxRetainedMessages: number;
  readonly maxPayloadBytes: number;
  /** 0: never. */
  readonly expirySeconds: number;
}

/** A zone with all its defaults resolved: zone key, else the global key, else the table's default. */
export interface ZoneSettings {
  readonly name: string;
  readonly allowAnonymous: boolean;
  readonly aclNomatch: 'allow' | 'deny';
  readonly aclDenyAction: 'ignore' | 'disconnect';
  readonly enableAcl: boolean;
  /** Whether clients are checked against the list of bans. */
  readonly enableBan: boolean;
  /** Whether clients that come and go more often than the threshold are banned, and for how long. */
  readonly enableFlappingDetect: boolean;
  readonly flappingThreshold: { readonly count: number; readonly perMs: number };
  readonly flappingBanSeconds: number;
  readonly idleTimeoutMs: number;
  readonly publishLimit: { readonly count: number; readonly perMs: number } | undefined;
  readonly maxPacketBytes: number;
  readonly maxClientIdBytes: number;
  /** 0: no limit. */
  readonly maxTopicLevels: number;
  readonly maxQosAllowed: 0 | 1 | 2;
  /** Aliases that a client may use towards us; 0: none. */
  readonly maxTopicAlias: number;
  readonly retainAvailable: boolean;
  readonly wildcardSubscription: boolean;
  readonly sharedSubscription: boolean;
  readonly ignoreLoopDeliver: boolean;
  readonly serverKeepaliveSeconds: number | undefined;
  /** A connection ends after keepalive × backoff × 2 without a packet. */
  readonly keepaliveBackoff: number;
  /** 0: no limit. */
  readonly maxSubscriptions: number;
  readonly upgradeQos: boolean;
  /** Window towards v3 clients; 0: no limit (65535). */
  readonly maxInflight: number;
  /** 0: never resend on a live connection. */
  readonly retryIntervalMs: number;
  /** Announced to v5 clients when set; more QoS > 0 publishes in flight end the connection. */
  readonly receiveMaximum: number | undefined;
  /** 0: no limit. */
  readonly maxAwaitingRel: number;
  readonly awaitRelTimeoutMs: number;
  /** Sessions of v3 clients without clean start. */
  readonly sessionExpirySeconds: number;
  /** sync: acknowledged after the flush; async: written, not waited for; memory: never written. */
  readonly sessionDurability: 'sync' | 'async' | 'memory';
  /** Per priority; 0: no limit. */
  readonly maxMqueueLen: number;
  readonly mqueuePriorities: ReadonlyMap<string, number>;
  readonly mqueueDefaultPriority: 'highest' | 'lowest';
  readonly mqueueStoreQos0: boolean;
  readonly mountpoint: string | undefined;
  readonly useUsernameAsClientId: boolean;
  /** Most bytes that wait for one client's socket; over it, its QoS 0 messages are dropped. */
  readonly maxOutboxBytes: number;
  /** Sent as Response Information to v5 clients that ask; `%c`, `%u`. */
  readonly responseInformation: string | undefined;
  /** Sent as Server Reference with 0x9C or 0x9D at shutdown, when set. */
  readonly serverReference: string | undefined;
}

export interface ListenerSettings {
  readonly kind: 'tcp' | 'ssl' | 'ws' | 'wss';
  readonly name: string;
  /** Undefined: all addresses. */
  readonly host: string | undefined;
  readonly port: number;
  /** As written: a port or `<address>:<port>`. */
  readonly listenOn: string;
  readonly acceptors: number;
  readonly maxConnections: number;
  /** New connections per second; 0: no limit. */
  readonly maxConnRate: number;
  readonly zone: string;
  /** Bytes per second and burst, per connection. */
  readonly rateLimit: { readonly bytesPerSecond: number; readonly burst: number } | undefined;
  /** In order; the first match decides, no match accepts. */
  readonly access: readonly { readonly allow: boolean; readonly range: string }[];
  readonly proxyProtocol: boolean;
  readonly proxyProtocolTimeoutMs: number;
  readonly peerCertAsUsername: 'cn' | 'dn' | 'crt' | undefined;
  readonly backlog: number;
  readonly sendTimeoutMs: number;
  readonly sendTimeoutClose: boolean;
  readonly nodelay: boolean;
  readonly tls: TlsSettings | undefined;
  readonly ws: WsSettings | undefined;
}

export interface TlsSettings {
  readonly minVersion: 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3';
  readonly maxVersion: 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3';
  readonly handshakeTimeoutMs: number;
  /** Undefined: the self-signed certificate of the data directory. */
  readonly keyFile: string | undefined;
  readonly certFile: string | undefined;
  readonly caCertFile: string | undefined;
  readonly dhFile: string | undefined;
  readonly verifyPeer: boolean;
  readonly failIfNoPeerCert: boolean;
  readonly ciphers: string | undefined;
  readonly pskCiphers: string | undefined;
  readonly reuseSessions: boolean;
  readonly honorCipherOrder: boolean;
}

export interface WsSettings {
  readonly mqttPath: string;
  readonly verifyProtocolHeader: boolean;
  readonly proxyAddressHeader: string | undefined;
  readonly proxyPortHeader: string | undefined;
  readonly compress: boolean;
  readonly deflate: WsDeflateSettings;
  /** 0: no limit of its own; mqtt.max_packet_size still holds. */
  readonly maxFrameBytes: number;
  /** Connection ends after so long without any frame; 0: never. */
  readonly idleTimeoutMs: number;
}

export interface WsDeflateSettings {
  readonly level: number | undefined;
  readonly memLevel: number | undefined;
  readonly strategy: 'default' | 'filtered' | 'huffman_only' | 'rle' | undefined;
  readonly serverContextTakeover: boolean;
  readonly clientContextTakeover: boolean;
  readonly serverMaxWindowBits: number | undefined;
  readonly clientMaxWindowBits: number | undefined;
}

/** A port of management or of the dashboard. */
export interface HttpListenerSettings {
  /** `management.listener.http` */
  readonly key: string;
  readonly owner: 'management' | 'dashboard';
  /** Undefined: all addresses. */
  readonly host: string | undefined;
  readonly port: number;
  /** As written: a port or `<address>:<port>`. */
  readonly listenOn: string;
  readonly acceptors: number;
  readonly maxClients: number;
  readonly backlog: number;
  readonly sendTimeoutMs: number;
  readonly access: ListenerSettings['access'];
  readonly tls: TlsSettings | undefined;
}

export interface ManagementSettings {
  /** Of the application that the first start makes. */
  readonly defaultAppId: string;
  /** Undefined: the first start makes one up. */
  readonly defaultAppSecret: string | undefined;
  /** Of a page of a list. */
  readonly rowsMax: number;
  readonly bodyBytesMax: number;
  readonly requestTimeoutMs: number;
  /** Undefined: a random one for each application. */
  readonly defaultSecret: string | undefined;
  readonly listeners: readonly HttpListenerSettings[];
}

export interface DashboardSettings {
  readonly defaultLogin: string;
  readonly defaultPassword: string;
  readonly listeners: readonly HttpListenerSettings[];
}
