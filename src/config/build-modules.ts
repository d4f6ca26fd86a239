// The lines of the modules, in the order of their numbers, as they hold: none where the module is off.

import { moduleKeys, rewriteKeys, subscriptionKeys } from './module-keys.ts';
import type { ModuleSettings, ModuleSubscription, RewriteRule } from './settings.ts';
import type { SetValue, Values } from './values.ts';

export function modulesIn(values: Values): ModuleSettings {
  return {
    ...values.read(moduleKeys),
    subscriptions: values.get(subscriptionKeys.isOn) ? subscriptionsIn(values) : [],
    rewriteRules: values.get(rewriteKeys.isOn) ? rulesIn(values) : [],
  };
}

function subscriptionsIn(values: Values): ModuleSubscription[] {
  return numbered(values.ofPattern(subscriptionKeys.topic)).map(({ names, value }) => {
    // The table of keys has checked it.
    return { topic: value as string, qos: values.get(subscriptionKeys.qos, names) };
  });
}

function rulesIn(values: Values): RewriteRule[] {
  return numbered(values.ofPattern(rewriteKeys.rule)).map(({ names, value }) => {
    return { number: Number(names[0]), ...(value as Omit<RewriteRule, 'number'>) };
  });
}

function numbered(lines: readonly SetValue[]): SetValue[] {
  return lines.toSorted((a, b) => Number(a.names[0]) - Number(b.names[0]));
}
