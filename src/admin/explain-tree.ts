// What explain found, as a tree of lines for a terminal.

import type {
  AccessRow,
  ClientRow,
  GroupRow,
  PublishExplained,
  ReceiverRow,
  SubscribeExplained,
} from './explain.ts';

interface Branch {
  readonly text: string;
  readonly below?: readonly Branch[];
}

export function publishTree(said: PublishExplained, qos: number): string {
  const { client, acl, topic, retained, count, receivers, groups } = said;
  const more = count - receivers.length;
  return drawn({
    text: `publish to ${topic} with QoS ${qos} by ${named(client)}`,
    below: [
      { text: accessText(acl) },
      ...changers(said.hooks),
      ...(retained.would === 'none' ? [] : [{ text: retainedText(retained) }]),
      ...(said.dropped_because === undefined ? [] : [{ text: `dropped: ${said.dropped_because}` }]),
      ...(count === 0
        ? []
        : [
            {
              text: `receivers: ${count}`,
              below: [...receivers.map(receiver), ...(more > 0 ? [{ text: `${more} more` }] : [])],
            },
          ]),
      ...groups.map(groupBranch),
      ...(said.missing ?? []).map((text) => ({ text: `no answer from ${text}` })),
    ],
  });
}

export function subscribeTree(said: SubscribeExplained, qos: number): string {
  const { client, acl, subscriptions, retained } = said;
  const max = subscriptions.max === 0 ? 'no limit' : `limit ${subscriptions.max}`;
  return drawn({
    text: `subscribe to ${said.filter} with QoS ${qos} by ${named(client)}`,
    below: [
      { text: accessText(acl) },
      ...changers(said.hooks),
      {
        text: `topic filter: ${said.topic}${said.group === undefined ? '' : `, group ${said.group}`}`,
      },
      said.granted === undefined
        ? { text: `refused: ${said.refused_because}` }
        : {
            text: `granted: QoS ${said.granted}${said.replaces ? ', replaces the present one' : ''}`,
          },
      { text: `subscriptions: ${subscriptions.count}, ${max}` },
      { text: `retained messages: ${retained.count}${retained.more ? ' and more' : ''}` },
    ],
  });
}

function named({ client_id: clientId, username, state }: ClientRow): string {
  const user = username === null ? '' : ` (${username})`;
  return `${clientId === '' ? 'a client' : clientId}${user}, ${state}`;
}

function accessText({ allow, by, rule, source }: AccessRow): string {
  const where = source === undefined ? '' : ` at ${source}`;
  return `acl: ${allow ? 'allow' : 'deny'} by ${by}${rule === undefined ? '' : `: ${rule}`}${where}`;
}

function changers(owners: readonly string[]): Branch[] {
  return owners.length === 0 ? [] : [{ text: `may be changed by: ${owners.join(', ')}` }];
}

function retainedText({ would, why }: PublishExplained['retained']): string {
  return `retained: ${would}${why === undefined ? '' : `, ${why}`}`;
}

function groupBranch({ group, filter, strategy, members, candidates }: GroupRow): Branch {
  const chance = candidates.length > 1 ? ', one of these' : '';
  return {
    text: `$share/${group}/${filter}: ${strategy}, members: ${members}${chance}`,
    below: candidates.map(receiver),
  };
}

function receiver(row: ReceiverRow): Branch {
  const { queue, would, why, filters } = row;
  const max = queue.max === 0 ? '' : `/${queue.max}`;
  const oldest = row.drops_oldest === true ? ', the oldest is dropped' : '';
  const because = why === undefined ? '' : ` (${why}${oldest})`;
  const state = row.connected ? 'connected' : 'offline';
  return {
    text:
      `${row.client_id} by ${filters.join(' ')}: ${would}${because}, QoS ${row.qos}, ${state}, ` +
      `inflight ${queue.inflight}/${queue.window}, queued ${queue.queued}${max}`,
  };
}

function drawn(root: Branch): string {
  return [root.text, ...below(root, '')].map(printable).join('\n');
}

function below({ below: branches = [] }: Branch, indent: string): string[] {
  return branches.flatMap((branch, i) => {
    const isLast = i === branches.length - 1;
    const lines = below(branch, `${indent}${isLast ? '   ' : '│  '}`);
    return [`${indent}${isLast ? '└─' : '├─'} ${branch.text}`, ...lines];
  });
}

/** Client ids and topics are the clients' own words: none of them speaks to the terminal. */
export function printable(line: string): string {
  return line.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, '\u{FFFD}');
}
