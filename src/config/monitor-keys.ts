// sysmon.*, os_mon.*, vm_mon.*: what the broker watches of its threads, of the machine and of its own
// limits. The keys are those of the original platform; each text says what it means here.

import { parseByteSize } from '#base/byte-size';
import { type KeysOf, key } from './key.ts';
import type { HeapLimit, MonitorSettings } from './settings.ts';
import { durationMs, truth, type ValueType } from './value-type.ts';

/** Settings hold shares of 1. */
const percent: ValueType<number> = {
  name: 'percent',
  expects: 'a share from 1% to 100%',
  parse(text) {
    const value = Number(/^(\d{1,3}(?:\.\d+)?)%$/.exec(text)?.[1]);
    return value >= 1 && value <= 100 ? value / 100 : undefined;
  },
};

const heapLimit: ValueType<HeapLimit> = {
  name: 'bytesize',
  expects: 'a size such as 512MB, a share from 1% to 100%, or 0: off',
  parse(text) {
    const share = percent.parse(text);
    if (share !== undefined) return { share };
    const bytes = parseByteSize(text);
    return bytes === undefined ? undefined : { bytes };
  },
};

const checkMsMin = 1000;

export const monitorKeys: KeysOf<MonitorSettings> = {
  longGcMs: key('sysmon.long_gc', durationMs(), '0ms', {
    shipped: '0ms',
    text:
      'A collection of garbage that stops a thread for so long is told under ' +
      '$SYS/brokers/<node>/sysmon/long_gc. 0: not watched.',
  }),
  longScheduleMs: key('sysmon.long_schedule', durationMs(), '240ms', {
    shipped: '240ms',
    text:
      'A thread whose event loop was held up for so long is told under sysmon/long_schedule: nobody ' +
      'was served by it meanwhile. 0: not watched.',
  }),
  largeHeap: key('sysmon.large_heap', heapLimit, '80%', {
    shipped: '80%',
    text:
      'A thread whose heap grows over this is told under sysmon/large_heap: a size, or a share of ' +
      'what the heap may take at most. 0: not watched. The 8MB of the original platform were meant ' +
      'for one of its many processes; here a thread serves thousands of clients.',
  }),
  busyPort: key('sysmon.busy_port', truth, 'false', {
    shipped: 'false',
    text:
      'Whether a client that takes its messages so slowly that its outbox is full is told under ' +
      'sysmon/busy_port. Costs a look at all connections of a worker each second.',
  }),
  busyDistPort: key('sysmon.busy_dist_port', truth, 'true', {
    shipped: 'true',
    text: 'Whether a congested link between two workers is told under sysmon/busy_dist_port.',
  }),
  cpuCheckIntervalMs: key('os_mon.cpu_check_interval', durationMs(checkMsMin), '60s', {
    shipped: '60s',
    text: 'How often the CPU time of the machine since the last check is looked at.',
  }),
  cpuHighWatermark: key('os_mon.cpu_high_watermark', percent, '80%', {
    shipped: '80%',
    text: 'CPU busy so much over a check interval raises the alarm cpu_high_watermark.',
  }),
  cpuLowWatermark: key('os_mon.cpu_low_watermark', percent, '60%', {
    shipped: '60%',
    text: 'CPU busy less than this clears it.',
  }),
  memCheckIntervalMs: key('os_mon.mem_check_interval', durationMs(checkMsMin), '60s', {
    shipped: '60s',
    text: 'How often memory and disk are looked at.',
  }),
  sysmemHighWatermark: key('os_mon.sysmem_high_watermark', percent, '70%', {
    shipped: '70%',
    text:
      'Memory of the machine, or of the container, in use over this raises the alarm ' +
      'system_memory_high_watermark. What can be reclaimed at once, such as cached files, is not in use.',
  }),
  procmemHighWatermark: key('os_mon.procmem_high_watermark', percent, '70%', {
    shipped: '70%',
    text:
      "The broker taking more than this share of the machine's (or container's) memory raises the alarm " +
      'process_memory_high_watermark. The 5% of the original platform were meant for one of its many ' +
      'processes; here the broker is one.',
  }),
  diskHighWatermark: key('os_mon.disk_high_watermark', percent, '90%', {
    shipped: '90%',
    text:
      'The disk of node.data_dir full over this raises the alarm disk_almost_full. Looked at every ' +
      'os_mon.mem_check_interval.',
  }),
  vmCheckIntervalMs: key('vm_mon.check_interval', durationMs(checkMsMin), '30s', {
    shipped: '30s',
    text: 'How often the open files of the broker are counted; each connection is one.',
  }),
  processHighWatermark: key('vm_mon.process_high_watermark', percent, '80%', {
    shipped: '80%',
    text:
      'Open files over this share of their limit (ulimit -n) raise the alarm too_many_processes, which ' +
      'keeps the name it has where a connection is a process.',
  }),
  processLowWatermark: key('vm_mon.process_low_watermark', percent, '60%', {
    shipped: '60%',
    text: 'Open files below this share of their limit clear it.',
  }),
};
