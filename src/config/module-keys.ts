// module.*: what the broker does by itself for its clients, and can be left out.

import { type Key, type KeysOf, key, optionalKey } from './key.ts';
import type { ModuleSettings, RewriteRule } from './settings.ts';
import { flag, text, type ValueType } from './value-type.ts';

const qos: ValueType<0 | 1 | 2> = {
  name: 'integer',
  expects: '0, 1 or 2',
  choices: ['0', '1', '2'],
  parse: (value) => (/^[012]$/.test(value) ? (Number(value) as 0 | 1 | 2) : undefined),
};

/** `x/# ^x/y/(.+)$ z/y/$1`; module-faults.ts looks into its parts. */
const rewriteRule: ValueType<Omit<RewriteRule, 'number'>> = {
  expects: 'a filter, a regular expression and a destination, separated by spaces',
  parse(value) {
    const [filter, regex, dest, ...more] = value.split(/\s+/);
    if (filter === undefined || regex === undefined || dest === undefined) return undefined;
    return more.length === 0 ? { filter, regex, dest } : undefined;
  },
};

export const moduleKeys: KeysOf<Pick<ModuleSettings, 'presence' | 'presenceQos'>> = {
  presence: key('module.presence', flag, 'on', {
    shipped: 'on',
    text:
      'Whether a message under $SYS/brokers/<node>/clients/<client id>/ tells each time that a client ' +
      'has connected or disconnected.',
  }),
  presenceQos: key('module.presence.qos', qos, '1', {
    shipped: '1',
    text: 'QoS of those messages.',
  }),
};

interface SubscriptionKeys {
  readonly isOn: Key<boolean>;
  readonly topic: Key<string | undefined>;
  readonly qos: Key<0 | 1 | 2>;
}

export const subscriptionKeys: SubscriptionKeys = {
  isOn: key('module.subscription', flag, 'off', {
    shipped: 'off',
    text:
      'Whether each new session is subscribed to the topics below, before its client is told that it ' +
      'is connected. Access rules and max_subscriptions are not asked. A session that is taken up ' +
      'again has its subscriptions already, or its client has given them up.',
  }),
  topic: optionalKey('module.subscription.<n>.topic', text('a topic filter, also a shared one'), {
    sample: '$client/%c/#',
    sampleNames: '1',
    text:
      'A filter that sessions are subscribed to. %c and %u as whole levels stand for the client id and ' +
      'the username. The line does not hold for a client that has no username where %u stands, or ' +
      'whose client id or username would be something else than one level: with +, # or / in it, or ' +
      'a $ at the beginning of the filter.',
  }),
  qos: key('module.subscription.<n>.qos', qos, '1', {
    sample: '1',
    sampleNames: '1',
    text: 'QoS of that subscription.',
  }),
};

interface RewriteKeys {
  readonly isOn: Key<boolean>;
  readonly rule: Key<Omit<RewriteRule, 'number'> | undefined>;
}

export const rewriteKeys: RewriteKeys = {
  isOn: key('module.rewrite', flag, 'off', {
    shipped: 'off',
    text:
      'Whether topics are rewritten by the rules below: of everything that is published, wills too, and ' +
      'of the filters that clients subscribe to and unsubscribe from. Access rules are asked about ' +
      'the topic before that, and it is kept as retained under the name after it. While it is on, ' +
      'every message is looked at by itself: plain QoS 0 messages lose the fast lane that they ' +
      'otherwise have.',
  }),
  rule: optionalKey('module.rewrite.rule.<n>', rewriteRule, {
    sample: 'x/# ^x/y/(.+)$ z/y/$1',
    sampleNames: '1',
    text:
      'Of the rules, in the order of their numbers, the first holds whose filter matches the topic with ' +
      'its mountpoint and without $share/<group>/. If its regular expression matches too, the topic ' +
      'becomes the destination, in which $1 is what the first group of the expression has found; if ' +
      'not, or if that is no topic, it stays as it is. Back-references and look-around are not ' +
      'available: no topic takes long to match. No rule leads to or from $SYS/, and none leads a ' +
      'subscription out of the mountpoint of its client.',
  }),
};
