// Actions for trying rules out: one shows what it is given, in the log and to whoever watches live; one does
// nothing and always succeeds. Laws: what is shown is bounded, whatever the event carries, and
// how often, however many results it has: nothing is put into words that will not be shown.

import { toJson } from '../eval/json.ts';
import { isBytes, isList, type Value, type WritableMap, setKey } from '../eval/value.ts';
import { type ActionDefinition, defineAction } from './action.ts';

/** Of each of the three parts, in the log. */
const loggedCharactersMax = 4096;

export const inspect: ActionDefinition = defineAction({
  name: 'inspect',
  olderName: 'built_in:inspect_action',
  app: 'broker_rule_engine',
  for: '$any',
  types: [],
  params: {},
  title: { en: 'Inspect (debug)', zh: '检查 (调试)' },
  description: {
    en: 'Shows the selected data and the event in the log, and live to whoever watches',
    zh: '检查动作参数 (用于调试)',
  },
  create(params, { ruleId, actionId, log, nowMs, onSight, sights }) {
    const shownParams = clip(params as Value) as Record<string, unknown>;
    const paramsText = short(shownParams as Value);
    return (selected, event) => {
      if (!sights.admits()) return;
      const [data, envs] = [clip(selected), clip(event.columns() as Value)];
      if (log.isEnabled('info')) {
        const texts = { selected: short(data), event: short(envs), params: paramsText };
        log.info('rule.inspect', { rule: ruleId, action: actionId, ...texts });
      }
      onSight()?.({
        ...{ ruleId, actionId, atMs: nowMs(), selected: data, params: shownParams },
        event: envs as Record<string, unknown>,
      });
    };
  },
});

export const doNothing: ActionDefinition = defineAction({
  name: 'do_nothing',
  olderName: 'built_in:do_nothing_action',
  app: 'broker_rule_engine',
  for: '$any',
  types: [],
  params: {},
  title: { en: 'Do Nothing (debug)', zh: '空动作 (调试)' },
  description: {
    en: 'Does nothing and never fails',
    zh: '此动作什么都不做，并且不会失败 (用以调试)',
  },
  create: () => () => undefined,
});

/** As text: a field named `payload` would be hidden by the log, and this is there to be seen. */
function short(value: Value): string {
  const text = toJson(value);
  return text.length > loggedCharactersMax ? `${text.slice(0, loggedCharactersMax)}…` : text;
}

const depthMax = 8;
const partsMax = 200;
const textMax = 4096;
/** Of all texts together. */
const charactersMax = 65_536;

interface Budget {
  parts: number;
  characters: number;
}

/** A copy that is small enough to be handed around, and plain: JSON says everything in it. */
function clip(value: Value, depth = 0, budget: Budget = fullBudget()): Value {
  if (--budget.parts < 0) return '…';
  if (typeof value === 'bigint') return value.toString();
  if (isBytes(value)) return clipText(value.toString('base64', 0, textMax), budget);
  if (typeof value === 'string') return clipText(value, budget);
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= depthMax) return '…';
  if (isList(value)) return value.slice(0, partsMax).map((item) => clip(item, depth + 1, budget));
  const copy: WritableMap = {};
  for (const [key, item] of Object.entries(value).slice(0, partsMax)) {
    if (budget.characters <= 0) {
      setKey(copy, '…', '…');
      break;
    }
    setKey(copy, clipText(key, budget), clip(item, depth + 1, budget));
  }
  return copy;
}

function fullBudget(): Budget {
  return { parts: partsMax, characters: charactersMax };
}

function clipText(text: string, budget: Budget): string {
  const room = Math.min(textMax, budget.characters);
  budget.characters -= Math.min(text.length, room);
  return text.length > room ? `${text.slice(0, room)}…` : text;
}
