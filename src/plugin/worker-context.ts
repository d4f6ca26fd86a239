// What the worker part of a plugin can do, in each worker by itself. Laws: what it registers while it
// starts takes effect at once when it has started, and together, in place of what its former reading had
// registered; everything is the plugin's own and goes with it.

import type { Clock } from '#base/clock';
import type { Logger } from '#base/log';
import type { Properties, QoS } from '#wire/packet';
import type { HookWish } from '#hooks/runner';
import type { ClientInfo, HookName, HookTable, MessageView } from '#hooks/table';

export type WorkerPart<S> = (context: WorkerContext<S>) => void | Promise<void>;

export interface WorkerContext<S = unknown> {
  readonly settings: S;
  readonly log: Logger;
  readonly clock: Clock;
  /** Aborted when the plugin is unloaded. */
  readonly signal: AbortSignal;
  readonly nodeName: string;
  /** Of this worker, from 0. */
  readonly worker: number;
  /** How long the broker waits for an answer of an asked hook. */
  readonly hookDeadlineMs: number;
  readonly hooks: {
    /** Higher priorities are called first; 0 without a word. */
    on<K extends HookName>(hook: K, call: HookTable[K], priority?: number): void;
    /** Exactly these from now on, all at once. Equal priorities keep their places. */
    replace(wishes: readonly HookWish[]): void;
  };
  /**
   * Shows messages on topics that match, when they are accepted and before anybody is sent them; undefined:
   * on all topics. Other topics pay nothing for it, where a hook costs every message. A function is shown
   * a message once, however many of its filters match. Answers how to stop.
   */
  watch(filter: string | undefined, call: (message: MessageView) => void): () => void;
  /** One of the plugin's `metrics`. */
  count(metric: string, by?: number): void;
  every(ms: number, call: () => unknown): () => void;
  after(ms: number, call: () => unknown): () => void;
  /** Called when the plugin is unloaded. Answers how to have it done now. */
  defer(undo: () => unknown): () => void;
  /** Asks the control part; see `ControlContext.answers`. What goes both ways is plain data. */
  ask(question: string, ...args: readonly unknown[]): Promise<unknown>;
  /** The same without a deadline: the control part sees to it that there is an answer. */
  askLong(question: string, ...args: readonly unknown[]): Promise<unknown>;
  /** What the control part can ask, by name; see `ControlContext.askWorkers`. */
  answers(table: Answers): void;
  /**
   * Told what the control part shares, now if it has already, and each time that it does. What `call`
   * promises is waited for: by the start of this part, and by `ControlContext.share`.
   */
  onShared(call: SharedListener): void;
  /** As the broker itself: through hooks, past access control. Resolves to the number of copies when it is safe. */
  publish(message: PluginMessage): Promise<number>;
  /** Ends the connection of a client of this worker. False: it is not here. */
  kick(clientId: string): boolean;
  /** Whether a client may, asked anew and past what is remembered; for hooks that read one topic as another. */
  judge(
    client: ClientInfo,
    action: 'publish' | 'subscribe',
    topic: string,
  ): Promise<'allow' | 'deny' | 'unavailable'>;
  /** Decisions about rights are not remembered any longer: of one client, or of all. */
  forgetRights(clientId?: string): void;
}

export type SharedListener = (shared: unknown) => void | Promise<void>;

/** Functions that the other part of a plugin can have called; what goes both ways is plain data. */
export type Answers = Readonly<Record<string, (...args: never[]) => unknown>>;

export interface PluginMessage {
  readonly topic: string;
  readonly payload: Uint8Array | string;
  readonly qos?: QoS;
  readonly retain?: boolean;
  readonly properties?: Properties;
  /** Whose message it is said to be; that of the node without a word. */
  readonly clientId?: string;
  /** How many rules it has gone through, this one included; see MessageView. Without a word 0. */
  readonly hops?: number;
}
