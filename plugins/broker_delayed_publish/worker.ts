// Takes messages to `$delayed/…` out of the way of all others, before any other hook sees them: those see
// the message when it is published, under its own name. Laws: whoever may not publish to the topic inside
// may not have it published later either; nothing that begins with `$delayed/` is routed, whatever fails.

import {
  describeError,
  type MessageRefusal,
  type MessageView,
  Reason,
  type WorkerContext,
  type WorkerPart,
} from '#sdk';
import type { DelayedSettings } from './config.ts';
import type { DelayedMessage } from './delayed-messages.ts';
import { delayedPrefix, innerTopic, readDelayedTopic } from './delayed-topic.ts';

/** Before those that rewrite topics, and those that look at messages. */
const priority = 1000;

const part: WorkerPart<DelayedSettings> = (context) => {
  const { log, clock } = context;
  const refused = (refusal: MessageRefusal): MessageRefusal => {
    context.count('delayed.refused');
    return refusal;
  };

  const delay = async (message: DelayedMessage): Promise<MessageRefusal | 'taken'> => {
    try {
      if (await inTime(context, context.ask('delay', message))) {
        context.count('delayed.accepted');
        return 'taken';
      }
      const text = 'Cannot delay the message: too many wait already';
      return refused({ refuse: Reason.quotaExceeded, text });
    } catch (error) {
      log.warn('delayed.not_kept', { clientId: message.clientId, error: describeError(error) });
      const text = 'Cannot delay the message: it cannot be kept now';
      return refused({ refuse: Reason.unspecifiedError, text, isFault: true });
    }
  };

  context.hooks.on(
    'message.publish',
    (message) => {
      const mountpoint = mountpointOf(message);
      if (!message.topic.startsWith(delayedPrefix, mountpoint.length)) return undefined;
      const read = readDelayedTopic(message.topic.slice(mountpoint.length), clock.nowMs());
      if ('refuse' in read) return refused(read);
      return delay(plain(message, mountpoint + read.topic, read.dueAtMs));
    },
    priority,
  );

  context.hooks.on(
    'client.check_acl',
    (client, action, topic) => {
      const inner = action === 'publish' ? innerTopic(topic) : undefined;
      if (inner === undefined) return 'ignore';
      return context.judge(client, action, inner).then((answer) => {
        // The whole name is still to be allowed, too.
        return answer === 'allow' ? 'ignore' : answer;
      });
    },
    priority,
  );
};

export default part;

/** A hook that does not answer in time is passed over, and the message would be routed as it stands. */
async function inTime<T>(
  { after, hookDeadlineMs }: Pick<WorkerContext, 'after' | 'hookDeadlineMs'>,
  asked: Promise<T>,
): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const cancel = after(hookDeadlineMs * 0.9, () => reject(new Error('no answer in time')));
  try {
    return await Promise.race([asked, late]);
  } finally {
    cancel();
  }
}

/** A hook may have led the message elsewhere. */
function mountpointOf({ topic, mountpoint = '' }: MessageView): string {
  return topic.startsWith(mountpoint) ? mountpoint : '';
}

/** Bytes of their own: those of a message are part of something larger, which would go along. */
function plain(message: MessageView, topic: string, dueAtMs: number): DelayedMessage {
  const { qos, retain, payload, properties, clientId, username, hops = 0 } = message;
  const { correlationData } = properties ?? {};
  return {
    ...{ topic, dueAtMs, qos, retain, clientId, username, hops },
    payload: new Uint8Array(payload),
    properties:
      correlationData === undefined
        ? properties
        : { ...properties, correlationData: Buffer.from(new Uint8Array(correlationData).buffer) },
  };
}
