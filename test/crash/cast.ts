// Who takes part: the clients of a run and their habits, as tables. Topics: t/ for everybody, s/ for the
// shared subscription, r/ retained (one publisher and one QoS for each), w/ wills, x/ for MQTT.js.

import type { Level } from './books.ts';
import type { ClientSpec } from './session-client.ts';

export interface Stream {
  readonly topic: string;
  readonly qos: Level;
  readonly retain?: boolean;
}

export interface PublisherRole {
  readonly spec: ClientSpec;
  readonly streams: readonly Stream[];
}

export interface SubscriberRole {
  readonly spec: ClientSpec;
  readonly qos: Level;
  /** Subscribed to from the beginning to the end. */
  readonly filters: readonly string[];
  /** Subscribed to and left again, over and over. */
  readonly fickle?: readonly string[];
  /** steady: always there. restless: leaves and comes within a round. absent: away for rounds. */
  readonly presence: 'steady' | 'restless' | 'absent';
  readonly isSlow?: boolean;
  /** Members of one shared subscription, whose messages are counted together. */
  readonly group?: string;
}

const v4 = (name: string, more: Partial<ClientSpec> = {}): ClientSpec => ({
  name,
  version: 4,
  isPersistent: true,
  ...more,
});
const v5 = (name: string, more: Partial<ClientSpec> = {}): ClientSpec => ({
  ...v4(name, more),
  version: 5,
});

const streams = (qos: Level, ...topics: string[]): Stream[] =>
  topics.map((topic) => ({ topic, qos, retain: topic.startsWith('r/') }));

export const publishers: readonly PublisherRole[] = [
  { spec: v4('pub-a'), streams: streams(1, 't/a', 't/b', 's/1', 'r/a/1') },
  {
    spec: v4('pub-b', { reusesIds: true }),
    streams: streams(2, 't/a', 't/c/d', 's/1', 'r/b/1', 'r/b/2'),
  },
  {
    spec: v5('pub-c'),
    streams: [...streams(1, 't/b', 't/c/d', 's/2', 'r/c/1'), ...streams(2, 't/b', 't/e', 'r/c/2')],
  },
  { spec: v5('pub-d', { reusesIds: true }), streams: streams(2, 't/c/d', 't/e', 's/2', 'r/d/1') },
  {
    spec: v4('pub-brief-e', { isPersistent: false }),
    streams: [...streams(1, 't/a', 'r/e/1'), ...streams(2, 't/a', 's/1')],
  },
  {
    spec: v5('pub-brief-f', { isPersistent: false, reusesIds: true }),
    streams: [...streams(2, 't/f', 'r/f/1'), ...streams(1, 't/f', 's/2')],
  },
];

const groupFilter = '$share/group/s/#';

export const subscribers: readonly SubscriberRole[] = [
  { spec: v4('sub-all-1'), qos: 1, filters: ['t/#', 'r/#'], presence: 'steady' },
  { spec: v5('sub-all-2'), qos: 2, filters: ['t/#', 't/a', 't/+'], presence: 'steady' },
  { spec: v4('sub-plus'), qos: 2, filters: ['t/+'], presence: 'restless' },
  { spec: v5('sub-deep'), qos: 1, filters: ['t/c/#', '+/b'], presence: 'restless' },
  { spec: v5('sub-away'), qos: 2, filters: ['t/#'], presence: 'absent' },
  { spec: v4('sub-away-too'), qos: 1, filters: ['t/a', 't/+/d'], presence: 'absent' },
  { spec: v4('sub-slow'), qos: 2, filters: ['t/a', 't/b'], presence: 'steady', isSlow: true },
  {
    spec: v5('sub-narrow', { receiveMaximum: 5 }),
    qos: 1,
    filters: ['t/c/d', 't/e'],
    presence: 'steady',
    isSlow: true,
  },
  {
    spec: v5('sub-fickle'),
    qos: 2,
    filters: ['t/f'],
    fickle: ['t/a', 't/b', 't/c/#', 'r/+/1'],
    presence: 'steady',
  },
  {
    spec: v4('sub-fickle-too'),
    qos: 1,
    filters: [],
    fickle: ['t/+', 't/c/d', 'r/#'],
    presence: 'restless',
  },
  { spec: v5('share-1'), qos: 2, filters: [groupFilter], presence: 'restless', group: 'group' },
  { spec: v4('share-2'), qos: 2, filters: [groupFilter], presence: 'restless', group: 'group' },
  { spec: v5('watcher'), qos: 2, filters: ['w/#'], presence: 'steady' },
];

/** Clients that do nothing but leave a will behind. */
export const mourned: readonly ClientSpec[] = [
  v4('will-4', { will: { qos: 1, delaySeconds: 0 } }),
  v4('will-brief', { isPersistent: false, will: { qos: 2, delaySeconds: 0 } }),
  v5('will-5', { will: { qos: 2, delaySeconds: 0 } }),
  v5('will-late', { will: { qos: 2, delaySeconds: 2 } }),
];
