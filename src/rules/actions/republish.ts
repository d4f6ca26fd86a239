// Publishes another message in answer to an event. Laws: rules that answer each other end after `hopsMax`,
// whichever way they go round, because every message says how many rules it has gone through; nobody waits
// for what is published; how much may be under way is bounded.

import { topicNameFault } from '#topics/topic';
import type { QoS } from '#wire/packet';
import { toJson } from '../eval/json.ts';
import type { Value } from '../eval/value.ts';
import { Template } from '../template.ts';
import { type ActionDefinition, type ActionEvent, defineAction } from './action.ts';

export const hopsMax = 8;
/** Of one action in one worker. */
const underWayMax = 10_000;
const underWayBytesMax: number = 64 * 2 ** 20;
/** As the source message has it. */
const asSource = -1;

export const republish: ActionDefinition = defineAction({
  name: 'republish',
  olderName: 'built_in:republish_action',
  app: 'broker_rule_engine',
  for: '$any',
  types: [],
  params: {
    target_topic: {
      type: 'string',
      required: true,
      default: 'repub/to/${client_id}',
      format: 'topic',
      title: { en: 'Target Topic', zh: '目的主题' },
      description: {
        en: 'To which topic the message will be republished; a template',
        zh: '重新发布消息到哪个主题',
      },
    },
    target_qos: {
      type: 'number',
      required: false,
      default: 0,
      enum: [asSource, 0, 1, 2],
      title: { en: 'Target QoS', zh: '目的 QoS' },
      description: {
        en: 'QoS of the message; -1: that of the source message, 0 where there is none',
        zh: '重新发布消息时用的 QoS，-1 表示使用原消息的 QoS',
      },
    },
    target_retain: {
      type: 'number',
      required: false,
      default: asSource,
      enum: [asSource, 0, 1],
      title: { en: 'Target Retain', zh: '目的保留标志' },
      description: {
        en: 'Whether it is retained; -1: as the source message, 0 where there is none',
        zh: '是否保留消息，-1 表示与原消息相同',
      },
    },
    payload_tmpl: {
      type: 'string',
      required: false,
      default: '${payload}',
      input: 'textarea',
      title: { en: 'Payload Template', zh: '消息内容模板' },
      description: {
        en: 'The payload, with placeholders for selected data; empty: all of it as JSON',
        zh: '消息内容模板，支持变量；为空时使用全部选择的数据 (JSON)',
      },
    },
  },
  title: { en: 'Republish', zh: '消息重新发布' },
  description: { en: 'Republish a MQTT message to another topic', zh: '重新发布消息到另一个主题' },
  create(params, { actionId, publish }) {
    const topicTemplate = new Template(params['target_topic'] as string);
    const payloadText = params['payload_tmpl'] as string;
    const payloadTemplate = payloadText === '' ? undefined : new Template(payloadText);
    const [qos, retain] = [params['target_qos'] as number, params['target_retain'] as number];
    let underWay = 0;
    let underWayBytes = 0;
    return async (selected, event) => {
      const topic = topicOf(topicTemplate, selected);
      const hops = event.hops + 1;
      if (hops > hopsMax) throw endless(event, topic);
      // Before it is made: a list has thousands of elements, each of which may carry the whole payload.
      if (underWay >= underWayMax || underWayBytes >= underWayBytesMax) {
        throw new Error(`Cannot republish to "${topic}": ${underWay} messages are under way`);
      }
      const payload = payloadTemplate?.renderBytes(selected) ?? toJson(selected);
      underWay++;
      underWayBytes += payload.length;
      try {
        await publish({
          topic,
          payload,
          qos: (qos === asSource ? numberOf(event.get('qos')) : qos) as QoS,
          retain: (retain === asSource ? numberOf(event.get('retain')) : retain) === 1,
          clientId: actionId,
          hops,
        });
      } finally {
        underWay--;
        underWayBytes -= payload.length;
      }
    };
  },
});

function topicOf(template: Template, selected: Value): string {
  const missing = template.missingIn(selected);
  if (missing !== undefined) {
    throw new Error(`Cannot republish: ${missing} of the target topic has no value`);
  }
  const topic = template.render(selected);
  const fault = topicFault(topic);
  if (fault === undefined) return topic;
  throw new Error(`Cannot republish to "${topic.slice(0, 200)}": ${fault}`);
}

function topicFault(topic: string): string | undefined {
  if (topic.startsWith('$SYS/')) return 'only the broker itself publishes there';
  // What comes from the network never is: JSON can write halves of characters, UTF-8 cannot.
  if (!topic.isWellFormed()) return 'it has half a character';
  return topicNameFault(topic);
}

function endless(event: ActionEvent, topic: string): Error {
  const from = event.get('topic');
  return new Error(
    `Cannot republish "${String(from)}" to "${topic}": the message has gone through ${hopsMax} rules ` +
      'already, which answer each other',
  );
}

function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}
