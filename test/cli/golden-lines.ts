// What the golden tests say to a node, group by group, in this order: each line is a command. `<port 2>`
// is the port of the second listener, `<dir>` the directory of the node.

export interface GoldenGroup {
  readonly name: string;
  readonly lines: readonly string[];
  /** Its numbers differ from run to run. */
  readonly hasFigures?: boolean;
}

export const goldenGroups: readonly GoldenGroup[] = [
  { name: 'status', lines: ['status', 'status now'] },
  { name: 'broker', lines: ['broker', 'broker stats', 'broker help'] },
  { name: 'broker-metrics', lines: ['broker metrics'], hasFigures: true },
  { name: 'cluster', lines: ['cluster status', 'cluster'] },
  {
    name: 'listeners',
    lines: [
      'listeners',
      'listeners stop mqtt:tcp 1',
      'listeners stop mqtt:tcp 127.0.0.1:<port 2>',
      'listeners stop mqtt:tcp <port 2>',
      'listeners',
      'listeners stop mqtt:tcp',
    ],
  },
  {
    name: 'clients',
    lines: [
      'clients list',
      'clients show c1',
      'clients show c2',
      'clients kick c3',
      'clients kick nobody',
      'clients',
    ],
  },
  {
    name: 'subscriptions',
    lines: [
      'subscriptions list',
      'subscriptions show c2',
      'subscriptions show nobody',
      'subscriptions add c1 added/# 1',
      'subscriptions add c1 added/# 3',
      'subscriptions add nobody added/# 1',
      'subscriptions show c1',
      'subscriptions del c1 added/#',
      'subscriptions del nobody added/#',
      'subscriptions',
    ],
  },
  { name: 'routes', lines: ['routes list', 'routes show t/y', 'routes show no/such', 'routes'] },
  {
    name: 'vm',
    lines: ['vm', 'vm all', 'vm load', 'vm memory', 'vm process', 'vm io', 'vm ports', 'vm none'],
    hasFigures: true,
  },
  { name: 'mnesia', lines: ['mnesia', 'mnesia all'] },
  {
    name: 'log',
    lines: [
      'log primary-level',
      'log handlers list',
      'log set-level notice',
      'log handlers list',
      'log primary-level error',
      'log primary-level loud',
      'log set-level loud',
      'log handlers set-level file critical',
      'log handlers set-level file loud',
      'log handlers set-level console error',
      'log handlers list',
      'log set-level warning',
      'log',
    ],
  },
  {
    name: 'mgmt',
    lines: [
      'mgmt list',
      'mgmt insert a1 first',
      'mgmt insert a1 first',
      'mgmt lookup a1',
      'mgmt update a1 false',
      'mgmt list',
      'mgmt delete a1',
      'mgmt lookup a1',
      'mgmt update a1 true',
      'mgmt',
    ],
  },
  {
    name: 'admins',
    lines: [
      'admins add u1 Secret-1 viewer',
      'admins add u1 Secret-1',
      'admins passwd u1 Secret-2',
      'admins passwd u2 Secret-2',
      'admins del u1',
      'admins del u1',
      'admins',
    ],
  },
  { name: 'alarms', lines: ['alarms list', 'alarms history', 'alarms'] },
  {
    name: 'banned',
    lines: [
      'banned list',
      'banned add client_id evil',
      'banned add nick evil',
      'banned list',
      'banned del client_id evil',
      'banned list',
      'banned add',
    ],
  },
  {
    name: 'plugins',
    lines: [
      'plugins list',
      'plugins load broker_management',
      'plugins load nobody',
      'plugins unload broker_management',
      'plugins reload broker_management',
      'plugins',
    ],
  },
  {
    name: 'configs',
    lines: [
      'configs list broker_retainer',
      'configs set broker log.level loud',
      'configs set broker log.level info',
      'configs unset broker log.level',
      'configs set nobody a b',
      'configs',
    ],
  },
  {
    name: 'trace',
    lines: [
      'trace list',
      'trace start client c1 c1.log debug',
      'trace start topic t/# t.log',
      'trace start client c1 ../c1.log',
      'trace list',
      'trace stop client c1',
      'trace stop topic t/#',
      'trace stop client c1',
      'trace list',
      'trace',
    ],
  },
  {
    name: 'explain',
    lines: [
      'explain publish c1 t/a/x 1',
      'explain publish c1 s/1',
      'explain subscribe c1 r/# 2',
      'explain publish nobody t/a/x',
      'explain publish c1',
    ],
  },
  {
    name: 'sessions',
    lines: [
      'sessions list',
      'sessions show c1',
      'sessions show nobody',
      'sessions clean-persistent c1',
      'sessions clean-persistent c2',
      'sessions clean-persistent c2',
      'sessions',
    ],
  },
];
