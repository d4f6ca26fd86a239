// The ports of the node on the console: shown, and closed one by one. A listener that was stopped stays
// so until the node starts again, also in a worker that comes later; its connections stay.

import { Type } from 'typebox';
import { describeError } from '#base/errors';
import { OperatingError } from '../failures.ts';
import { keyLine } from '../key-lines.ts';
import { listenersOf } from '../listener-list.ts';
import { type AnyOperation, define } from '../operation.ts';
import { listenerRow, type ListenerRow, rowOf } from '../operations/listeners.ts';
import { noParams } from '../paging.ts';
import type { AdminParts } from '../parts.ts';

const tag = 'Listeners';
const keyColumns = 16;

export function listenerCommands(parts: AdminParts): AnyOperation[] {
  return [showing(parts), stopping(parts)];
}

function showing(parts: AdminParts): AnyOperation {
  return define({
    name: 'show_listeners',
    descr: 'List listeners, their connections and how connections ended',
    tag,
    cli: {
      words: 'listeners',
      args: [],
      print: (rows: readonly ListenerRow[]) => rows.map(linesOf).join('\n'),
    },
    params: noParams,
    result: Type.Array(listenerRow),
    run: async () => (await listenersOf(parts)).map(rowOf),
  });
}

function linesOf(row: ListenerRow): string {
  const ended = Object.entries(row.shutdown_count).map(([why, count]) => `{${why},${count}}`);
  const facts = [
    ['acceptors', row.acceptors],
    ['max_conns', row.max_conns],
    ['current_conn', row.current_conns],
    ['shutdown_count', `[${ended.join(',')}]`],
  ] as const;
  const lines = facts.map(([key, value]) => `  ${keyLine(key, value, keyColumns)}`);
  return [`listener on ${row.protocol}:${row.listen_on}`, ...lines].join('\n');
}

function stopping(parts: AdminParts): AnyOperation {
  const { node } = parts;
  const closed = new Set<number>();
  return define({
    name: 'stop_listener',
    descr: 'Stop a listener; its connections stay',
    tag,
    cli: {
      words: 'listeners stop',
      args: ['protocol', 'port'],
      usage: '<Proto> <Port>',
      print: ({ protocol, listen_on: where }: { protocol: string; listen_on: string }) =>
        `Stop ${protocol} listener on ${where} successfully.`,
      printFailure: ({ message }, { protocol, port }) =>
        `Failed to stop ${protocol} listener on ${port}, error:${message}`,
    },
    params: Type.Object({
      protocol: Type.String({ description: 'mqtt:tcp, mqtt:ssl, mqtt:ws or mqtt:wss' }),
      port: Type.String({ description: '<port> or <address>:<port>' }),
    }),
    result: Type.Object({ protocol: Type.String(), listen_on: Type.String() }),
    async run({ protocol, port }) {
      const { place, where } = findOpen(parts, protocol, port, closed);
      closed.add(place);
      try {
        await node.workers.uphold('keepClosed', [[...closed]]);
      } catch (error) {
        throw new OperatingError('badCall', describeError(error), { cause: error });
      }
      return { protocol, listen_on: where };
    },
  });
}

interface Found {
  /** In the order of the settings. */
  readonly place: number;
  readonly where: string;
}

function findOpen(
  { node, settings }: AdminParts,
  protocol: string,
  port: string,
  closed: ReadonlySet<number>,
): Found {
  const found = settings.listeners.flatMap(({ kind, listenOn }, place): Found[] => {
    // Where the configuration leaves the port open, the system has chosen one.
    const where = listenOn.replace(/\d+$/, String(node.ports[place]));
    const isMeant =
      `mqtt:${kind}` === protocol && [where, String(node.ports[place])].includes(port);
    return isMeant && !closed.has(place) ? [{ place, where }] : [];
  });
  const [only, ...others] = found;
  if (only === undefined) throw new OperatingError('notFound', 'not_found');
  if (others.length > 0) {
    const choice = found.map(({ where }) => where).join(', ');
    throw new OperatingError('invalid', `several have this port, expected one of ${choice}`);
  }
  return only;
}
