// Follows clients and topics through one worker, for the traces of the node. Laws: hooks are set while
// there is a trace and taken away with the last one, so that nothing costs when nobody traces; lines
// leave in one batch a turn; so many may be on their way that the control thread has not taken, what
// is more is counted and lost.

import type { Clock } from '#base/clock';
import { randomHex } from '#base/ids';
import { reasonWord } from '#wire/reason-codes';
import { matches } from '#topics/match';
import type { Hooks } from '#hooks/runner';
import type { ClientInfo, DropReason, MessageView, RouteView } from '#hooks/table';
import {
  type LineLevel,
  shownPayload,
  type TraceFields,
  type TraceLine,
  traceLevels,
  type TraceSpec,
  traceText,
} from './trace-line.ts';

/** What a worker tells of one turn. */
export interface TraceBatch {
  /** Which tracer tells it, and is to be told when it was taken. */
  readonly tracer: string;
  readonly lines: readonly TraceLine[];
  readonly chars: number;
  /** Lines that were lost behind these. */
  readonly lost: number;
}

/** What the control thread has taken of a tracer's lines. */
export interface Taken {
  readonly tracer: string;
  readonly lines: number;
  readonly chars: number;
}

export interface TracerParts {
  readonly hooks: Hooks;
  readonly clock: Clock;
  readonly send: (batch: TraceBatch) => void;
  /** Lines and characters that may be on their way. */
  readonly linesMax?: number;
  readonly charsMax?: number;
}

const owner = 'tracer';
const linesMaxUsual = 10_000;
const charsMaxUsual = 4 * 1024 * 1024;
/** Receivers that a line names. */
const namedMax = 20;

export class Tracer {
  readonly #parts: TracerParts;
  readonly #linesMax: number;
  readonly #charsMax: number;
  readonly #id = randomHex(8);
  #clients: ReadonlyMap<string, readonly TraceSpec[]> = new Map();
  #topics: readonly TraceSpec[] = [];
  #lines: TraceLine[] = [];
  #chars = 0;
  #linesAway = 0;
  #charsAway = 0;
  #lost = 0;
  #flushing: NodeJS.Immediate | undefined;
  #isHooked = false;

  constructor(parts: TracerParts) {
    this.#parts = parts;
    this.#linesMax = parts.linesMax ?? linesMaxUsual;
    this.#charsMax = parts.charsMax ?? charsMaxUsual;
  }

  /** All traces of the node, in place of those before. What those have seen is told first. */
  set(traces: readonly TraceSpec[]): void {
    this.#flush();
    this.#clients = Map.groupBy(
      traces.filter(({ by }) => by === 'client'),
      ({ of }) => of,
    );
    this.#topics = traces.filter(({ by }) => by === 'topic');
    if (traces.length > 0 && !this.#isHooked) this.#hook();
    if (traces.length === 0 && this.#isHooked) this.#parts.hooks.off(owner);
    this.#isHooked = traces.length > 0;
  }

  taken({ tracer, lines, chars }: Taken): void {
    if (tracer !== this.#id) return;
    this.#linesAway -= lines;
    this.#charsAway -= chars;
    // Before there is anything behind those that were lost.
    if (this.#lost > 0) this.#flush();
  }

  #hook(): void {
    const { hooks } = this.#parts;
    hooks.on('client.connected', owner, (client, code) => this.#onConnected(client, code));
    hooks.on('client.disconnected', owner, (client, reason) =>
      this.#tellClient('notice', 'client.disconnected', client.clientId, { reason }),
    );
    hooks.on('session.created', owner, ({ clientId }) =>
      this.#tellClient('notice', 'session.created', clientId),
    );
    hooks.on('session.resumed', owner, ({ clientId }) =>
      this.#tellClient('notice', 'session.resumed', clientId),
    );
    hooks.on('session.terminated', owner, (clientId, _, reason) =>
      this.#tellClient('notice', 'session.terminated', clientId, { reason }),
    );
    hooks.on('session.subscribed', owner, ({ clientId }, { filter, qos, isNew }) =>
      this.#tellClient('notice', 'session.subscribed', clientId, { filter, qos, new: isNew }),
    );
    hooks.on('session.unsubscribed', owner, ({ clientId }, filter) =>
      this.#tellClient('notice', 'session.unsubscribed', clientId, { filter }),
    );
    hooks.on('client.denied', owner, ({ clientId }, action, topic) => {
      const traces = this.#tracesOf('warning', clientId, undefined, topic);
      this.#tell(traces, 'warning', 'client.denied', { client: clientId, action, topic });
    });
    this.#hookMessages(hooks);
  }

  #hookMessages(hooks: Hooks): void {
    hooks.on('message.received', owner, (message, isRepeated) =>
      this.#tellMessage('info', 'message.received', message, undefined, {
        retain: message.retain || undefined,
        repeated: isRepeated || undefined,
      }),
    );
    hooks.on('message.refused', owner, (message, code, text) =>
      this.#tellMessage('warning', 'message.refused', message, undefined, {
        reason: reasonWord(code),
        text,
      }),
    );
    hooks.on('message.routed', owner, (message, route) =>
      this.#tellMessage('info', 'message.routed', message, undefined, routed(route)),
    );
    hooks.on('message.queued', owner, (clientId, message) =>
      this.#tellMessage('info', 'message.queued', message, clientId),
    );
    hooks.on('message.sent', owner, ({ clientId }, message, qos, isAgain) =>
      this.#tellMessage('info', 'message.sent', message, clientId, {
        as: `qos${qos}`,
        again: isAgain || undefined,
      }),
    );
    hooks.on('message.acked', owner, ({ clientId }, message) =>
      this.#tellMessage('info', 'message.acked', message, clientId),
    );
    hooks.on('message.dropped', owner, (message, reason, clientId) =>
      this.#tellMessage(dropLevel(reason), 'message.dropped', message, clientId, { reason }),
    );
  }

  #onConnected(client: ClientInfo, code: number): void {
    const { clientId, username, address, port, version, listener } = client;
    const isRefused = code >= 0x80;
    this.#tellClient(isRefused ? 'warning' : 'notice', 'client.connected', clientId, {
      reason: reasonWord(code, 'connack'),
      username,
      peer: `${address}:${port}`,
      version,
      listener,
      clean_start: client.cleanStart,
      keepalive: client.keepaliveSeconds,
    });
  }

  #tellClient(level: LineLevel, event: string, clientId: string, fields?: TraceFields): void {
    const traces = this.#tracesOf(level, clientId, undefined, undefined);
    this.#tell(traces, level, event, { client: clientId, ...fields });
  }

  #tellMessage(
    level: LineLevel,
    event: string,
    message: MessageView,
    receiver: string | undefined,
    fields?: TraceFields,
  ): void {
    const { clientId, topic, qos, payload } = message;
    const traces = this.#tracesOf(level, clientId, receiver, topic);
    if (traces.length === 0) return;
    const about = { id: message.id, from: clientId, to: receiver, topic, qos };
    const size = payload.length;
    this.#tell(traces, level, event, { ...about, size, ...fields }, payload);
  }

  /** Those that follow the publisher, the receiver or the topic, and want lines of this level. */
  #tracesOf(
    level: LineLevel,
    clientId: string,
    receiver: string | undefined,
    topic: string | undefined,
  ): TraceSpec[] {
    const found = [...(this.#clients.get(clientId) ?? [])];
    if (receiver !== undefined && receiver !== clientId) {
      found.push(...(this.#clients.get(receiver) ?? []));
    }
    if (topic !== undefined) {
      for (const trace of this.#topics) if (matches(trace.of, topic)) found.push(trace);
    }
    return found.filter((trace) => traceLevels[trace.level] <= traceLevels[level]);
  }

  #tell(
    traces: readonly TraceSpec[],
    level: LineLevel,
    event: string,
    fields: TraceFields,
    payload?: Buffer,
  ): void {
    if (traces.length === 0) return;
    const isShown = payload !== undefined && traces.some(isOfPayloads);
    const line: TraceLine = {
      traces: traces.map(({ name }) => name),
      text: traceText(this.#parts.clock.nowMs(), level, event, fields),
      payload: isShown ? shownPayload(payload) : undefined,
    };
    const chars = line.text.length + (line.payload?.length ?? 0);
    const linesAway = this.#linesAway + this.#lines.length;
    const isFull =
      linesAway >= this.#linesMax || this.#charsAway + this.#chars + chars > this.#charsMax;
    if (isFull) {
      this.#lost++;
      return;
    }
    this.#lines.push(line);
    this.#chars += chars;
    this.#flushing ??= setImmediate(() => this.#flush());
  }

  #flush(): void {
    clearImmediate(this.#flushing);
    this.#flushing = undefined;
    if (this.#lines.length === 0 && this.#lost === 0) return;
    const [lines, chars, lost] = [this.#lines, this.#chars, this.#lost];
    this.#lines = [];
    this.#chars = 0;
    this.#lost = 0;
    this.#linesAway += lines.length;
    this.#charsAway += chars;
    this.#parts.send({ tracer: this.#id, lines, chars, lost });
  }
}

function isOfPayloads({ level }: TraceSpec): boolean {
  return traceLevels[level] === traceLevels.debug;
}

function dropLevel(reason: DropReason): LineLevel {
  if (reason === 'store_failed') return 'error';
  // Nobody misses what he has sent himself.
  return reason === 'no_local' ? 'info' : 'warning';
}

/** Who gets it, as far as this worker knows: names of the first ones, groups, other workers. */
function routed({ deliveries, groups, peers }: RouteView): TraceFields {
  const named = deliveries.slice(0, namedMax).map(({ session }) => session.clientId);
  const more = deliveries.length - named.length;
  return {
    receivers: deliveries.length,
    clients: named.length === 0 ? undefined : named.join(',') + (more > 0 ? ',…' : ''),
    groups: listed(groups.map(({ name, filter }) => `$share/${name}/${filter}`)),
    workers: listed(peers.map(({ peer }) => String(peer.index))),
  };
}

function listed(names: readonly string[]): string | undefined {
  return names.length === 0 ? undefined : names.slice(0, namedMax).join(',');
}
