// Parameters of actions, by specification: checked when a rule is made, with defaults filled in, so that an
// action finds what it expects. Laws: what is not specified is kept as it came; nothing is changed in place.

import { hasWildcard, topicNameFault } from '#topics/topic';
import { RuleFault } from '../rule-fault.ts';
import type { ParamView } from '../rule-service.ts';
import { Template } from '../template.ts';

/** In the order in which forms show them. */
export type ParamSpecs = Readonly<Record<string, ParamSpec>>;
export type ParamSpec = Omit<ParamView, 'order' | 'schema'> & { readonly schema?: ParamSpecs };
export type Params = Readonly<Record<string, unknown>>;

/** Of actions that need a resource: its id. */
export const resourceParam: ParamSpec = {
  type: 'string',
  required: true,
  title: { en: 'Resource ID', zh: '资源 ID' },
  description: { en: 'Bind a resource to this action', zh: '给动作绑定一个资源' },
};

/** Throws `bad_params`. `whose`: `action "republish"`. */
export function checkParams(specs: ParamSpecs, given: unknown, whose: string): Params {
  if (!isObject(given))
    throw bad(whose, `found ${worded(given)}, expected an object of parameters`);
  const checked: Record<string, unknown> = { ...given };
  for (const [name, spec] of Object.entries(specs)) {
    if (!Object.hasOwn(given, name) || given[name] === undefined) {
      const filled = defaultOf(spec);
      if (filled !== undefined) checked[name] = filled;
      else if (spec.required) throw bad(whose, `parameter "${name}" is missing`);
      continue;
    }
    checked[name] = checkOne(spec, given[name], `${whose}: parameter "${name}"`);
  }
  return checked;
}

/** A required parameter has to be given, whatever a form begins with. */
function defaultOf({ required, default: filled }: ParamSpec): unknown {
  return required ? undefined : filled;
}

function checkOne(spec: ParamSpec, value: unknown, whose: string): unknown {
  const { type, enum: among, range, format, schema } = spec;
  if (!isOfType(type, value))
    throw bad(whose, `found ${worded(value)}, expected ${typeWords(type)}`);
  if (among !== undefined && !among.includes(value)) {
    throw bad(whose, `found ${worded(value)}, expected one of ${among.map(worded).join(', ')}`);
  }
  if (range !== undefined && ((value as number) < range[0] || (value as number) > range[1])) {
    throw bad(whose, `found ${worded(value)}, expected ${range[0]} to ${range[1]}`);
  }
  const fault = typeof value === 'string' ? formatFault(format, value) : undefined;
  if (fault !== undefined) throw bad(whose, fault);
  return schema === undefined ? value : checkParams(schema, value, whose);
}

function isOfType(type: ParamSpec['type'], value: unknown): boolean {
  if (type === 'array') return Array.isArray(value);
  if (type === 'object') return isObject(value);
  return type === 'number' ? Number.isFinite(value) : typeof value === type;
}

/** `topic`: a name, in which placeholders may stand. */
function formatFault(format: string | undefined, value: string): string | undefined {
  if (format === 'url') {
    const isUrl = URL.canParse(value) && /^https?:$/.test(new URL(value).protocol);
    return isUrl ? undefined : `found ${worded(value)}, expected a URL of http or https`;
  }
  if (format !== 'topic') return undefined;
  if (value === '') return 'found "", expected a topic';
  const template = new Template(value);
  if (template.constant !== undefined) return topicNameFault(value);
  const isWild = template.literals.some(hasWildcard);
  return isWild ? 'wildcards are not allowed in a topic to publish to' : undefined;
}

export function paramViews(specs: ParamSpecs): Readonly<Record<string, ParamView>> {
  return Object.fromEntries(
    Object.entries(specs).map(([name, { schema, ...spec }], i) => [
      name,
      { order: i + 1, ...spec, ...(schema !== undefined && { schema: paramViews(schema) }) },
    ]),
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function worded(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

function typeWords(type: ParamSpec['type']): string {
  return type === 'array' || type === 'object' ? `an ${type}` : `a ${type}`;
}

function bad(whose: string, what: string): RuleFault {
  return new RuleFault('bad_params', `Cannot use ${whose}: ${what}`);
}
