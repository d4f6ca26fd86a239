// Parameters that all resources have which something is sent to: how much waits, and how long it is tried.

import type { ParamSpecs, Params } from '../actions/param-spec.ts';

/** On disk. */
export interface BufferLimits {
  readonly isWanted: boolean;
  readonly bytesMax: number;
}

export interface QueueLimits {
  readonly jobsMax: number;
  readonly bytesMax: number;
  /** How long a job is tried that fails while somebody is there. */
  readonly retryMs: number;
  /** How long it waits while nobody is. */
  readonly awayMs: number;
}

export const queueParams: ParamSpecs = {
  queue_size: {
    type: 'number',
    required: false,
    default: 10_000,
    range: [1, 1_000_000],
    title: { en: 'Queue Size', zh: '队列长度' },
    description: {
      en: 'Events that may wait for the resource, of each action; one more fails',
      zh: '每个动作等待发送的最大事件数，超出时动作失败',
    },
  },
  queue_bytes: {
    type: 'number',
    required: false,
    default: 64 * 2 ** 20,
    range: [1024, 2 ** 32],
    title: { en: 'Queue Bytes', zh: '队列字节数' },
    description: {
      en: 'How much memory they may take, of each action',
      zh: '每个动作的队列占用的最大内存',
    },
  },
  buffer: {
    type: 'string',
    required: false,
    default: 'memory',
    enum: ['memory', 'disk'],
    title: { en: 'Buffer', zh: '缓存' },
    description: {
      en:
        'disk: events are kept on disk until the resource has taken them, also over a restart; an action has ' +
        'succeeded when its event is there',
      zh: 'disk: 事件保存在磁盘上直到资源接收，重启后仍保留；写入磁盘即视为动作成功',
    },
  },
  buffer_bytes: {
    type: 'number',
    required: false,
    default: 2 ** 30,
    range: [1024 * 1024, 2 ** 40],
    title: { en: 'Buffer Bytes', zh: '缓存字节数' },
    description: {
      en: 'How much disk they may take; one more fails',
      zh: '磁盘缓存的最大字节数，超出时动作失败',
    },
  },
  retry_seconds: {
    type: 'number',
    required: false,
    default: 60,
    range: [0, 3600],
    title: { en: 'Retry For (s)', zh: '重试时间 (秒)' },
    description: {
      en: 'How long an event in memory is tried again while the resource does not answer; 0: not at all',
      zh: '资源不可用时重试的时间，0 表示不重试',
    },
  },
};

/** Of a configuration whose defaults are filled in. */
export function queueLimits(config: Params): QueueLimits {
  const number = (name: string): number => Number(config[name] ?? queueParams[name]?.default);
  return {
    jobsMax: number('queue_size'),
    bytesMax: number('queue_bytes'),
    retryMs: number('retry_seconds') * 1000,
    awayMs: number('retry_seconds') * 1000,
  };
}

export function bufferLimits(config: Params): BufferLimits {
  return {
    isWanted: config['buffer'] === 'disk',
    bytesMax: Number(config['buffer_bytes'] ?? queueParams['buffer_bytes']?.default),
  };
}
