// rule_engine.*: what rules look at, and what is kept for whoever tries one out.

import {
  filterFault,
  flag,
  key,
  type KeysOf,
  optionalKey,
  type PluginValues,
  type ValueType,
} from '#sdk';

interface Values {
  readonly isSysIgnored: boolean;
  readonly isLinkLocalDenied: boolean;
  readonly previewFilters: readonly string[] | undefined;
}

export interface RuleEngineSettings extends Values {
  readonly previewFilters: readonly string[];
}

const filtersMax = 32;

const filterList: ValueType<readonly string[]> = {
  expects: `topic filters, ${filtersMax} at most, separated by commas`,
  parse(value) {
    const filters = value.split(',').map((one) => one.trim());
    const isRight = filters.every((one) => filterFault(one) === undefined && !one.startsWith('$'));
    return isRight && filters.length <= filtersMax ? [...new Set(filters)] : undefined;
  },
};

export const keys: KeysOf<Values> = {
  isSysIgnored: key('rule_engine.ignore_sys_message', flag, 'on', {
    shipped: 'on',
    text: 'Whether rules do not see messages on topics below $SYS/, published or dropped.',
  }),
  isLinkLocalDenied: key('rule_engine.deny_link_local', flag, 'on', {
    shipped: 'on',
    text:
      'Whether resources may not connect to link-local addresses and those where clouds keep the metadata ' +
      'of a machine, with its credentials. Judged by the address, whatever name led to it.',
  }),
  previewFilters: optionalKey('rule_engine.preview.filters', filterList, {
    text:
      'Topics whose last messages are kept in memory, a few of them, for whoever tries a rule out with ' +
      '"rules preview". Without it none are; others can be switched on while the broker runs.',
  }),
};

export function readSettings(values: PluginValues): RuleEngineSettings {
  const { previewFilters = [], ...others } = values.read<Values>(keys);
  return { ...others, previewFilters };
}
