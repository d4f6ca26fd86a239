// node.*: who this broker is, where it keeps its data, how much of it there may be.

import { sizeOrShare, workerCount } from './compound-type.ts';
import { type KeysOf, key } from './key.ts';
import type { NodeSettings } from './settings.ts';
import { int, matching, oneOf, text } from './value-type.ts';

export const nodeKeys: KeysOf<NodeSettings> = {
  name: key(
    'node.name',
    matching(/^[A-Za-z0-9_-]+@[A-Za-z0-9._:-]+$/, '<name>@<host>, such as broker@127.0.0.1'),
    'broker@127.0.0.1',
    {
      shipped: 'broker@127.0.0.1',
      text: 'Name of this node, unique among the nodes that know each other.',
    },
  ),
  dataDir: key('node.data_dir', text('the path of a directory'), 'data', {
    shipped: 'data',
    text:
      'Directory of everything that must outlive the process; made when missing. Two brokers on ' +
      'one machine need two directories. A relative path starts at the directory of the installation.',
  }),
  workers: key('node.workers', workerCount, 'auto', {
    shipped: 'auto',
    text:
      'Threads that serve clients. auto: one less than the machine has cores, and at least one. ' +
      '0: the main thread serves them itself, for tests and for small devices.',
  }),
  maxClients: key('node.max_clients', int(1), '1024000', {
    shipped: '1024000',
    text: 'Most clients connected at a time, all listeners together. One more is refused with "quota exceeded".',
  }),
  memoryBudget: key('node.memory_budget', sizeOrShare, '50%', {
    shipped: '50%',
    text:
      'Memory that everything waiting for clients may take together: outboxes, queues, messages in ' +
      "flight. A size, or a share of the machine's (or container's) memory. Near it, publishers are " +
      'paused; at it, new connections are refused.',
  }),
  onCorruptStore: key('node.on_corrupt_store', oneOf('stop', 'continue'), 'stop', {
    shipped: 'stop',
    text:
      'What a damaged store does to the start. stop: the broker says so and does not start. ' +
      'continue: the store is set aside under another name, and an empty one is begun.',
  }),
};
