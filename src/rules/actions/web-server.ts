// Tells a web server about an event. The request is made here, in the worker, from templates that were taken
// apart before; it is sent in the integration thread (resources/web-hook.ts). Laws: what an event carries
// becomes no part of a URL or a header but a value there; how much may be under way is bounded.

import { toJson } from '../eval/json.ts';
import { isList, isMap, isMissing, setKey, type Value, type WritableMap } from '../eval/value.ts';
import type { WebJob } from '../resources/web-hook-job.ts';
import { Template } from '../template.ts';
import {
  type ActionDefinition,
  type ActionEnv,
  type ActionEvent,
  type ActionRun,
  defineAction,
} from './action.ts';
import { resourceParam, type ParamSpec, type Params } from './param-spec.ts';

/** Of one action in one worker, on their way and waiting. */
const underWayMax = 10_000;
const underWayBytesMax = 64 * 2 ** 20;

const template: ParamSpec = {
  type: 'object',
  required: false,
  default: {},
  schema: {},
  title: { en: 'Body Template', zh: '请求体模板' },
  description: {
    en: 'The body as an object: a text that is one placeholder becomes its value, null where it has none',
    zh: '请求体的 JSON 模板，${field} 会被替换为字段的值',
  },
};

export const dataToWebserver: ActionDefinition = defineAction({
  name: 'data_to_webserver',
  olderName: 'web_hook:publish_action',
  app: 'broker_web_hook',
  for: '$any',
  types: ['web_hook'],
  params: {
    $resource: resourceParam,
    payload_tmpl: {
      type: 'string',
      required: false,
      default: '',
      input: 'textarea',
      title: { en: 'Payload Template', zh: '消息内容模板' },
      description: {
        en: 'The body, with placeholders for selected data; empty: all of it as JSON',
        zh: '请求体模板，支持变量；为空时使用全部选择的数据 (JSON)',
      },
    },
    template,
    path: {
      type: 'string',
      required: false,
      default: '',
      title: { en: 'Path', zh: '路径' },
      description: {
        en: 'Behind that of the URL, with placeholders; a query may follow. Values are encoded',
        zh: '追加在 URL 之后的路径，支持变量',
      },
    },
    headers: {
      type: 'object',
      required: false,
      default: {},
      schema: {},
      title: { en: 'Request Header', zh: '请求头' },
      description: {
        en: 'More headers, with placeholders in their values',
        zh: '附加的请求头，值支持变量',
      },
    },
  },
  title: { en: 'Data to Web Server', zh: '发送数据到 Web 服务' },
  description: { en: 'Forward Messages to Web Server', zh: '将数据转发给 Web 服务' },
  create(params, env) {
    const path = new Template(String(params['path']));
    const headers = Object.entries(params['headers'] as Params).map(
      ([name, value]) => [name, new Template(String(value))] as const,
    );
    const body = bodyMaker(params);
    return sending(params, env, (selected) => ({
      path: pathOf(path, selected),
      headers: headersOf(headers, selected),
      body: body(selected),
    }));
  },
});

export const eventToWebserver: ActionDefinition = defineAction({
  name: 'web_hook:event_action',
  olderName: 'web_hook:event_action',
  app: 'broker_web_hook',
  for: '$events',
  types: ['web_hook'],
  params: { $resource: resourceParam, template },
  title: { en: 'Event to Web Server', zh: '发送事件到 Web 服务' },
  description: { en: 'Forward Events to Web Server', zh: '将事件转发给 Web 服务' },
  create(params, env) {
    const made = filler(params['template'] as Value);
    return sending(params, env, (selected, event) => ({
      path: '',
      headers: {},
      body: toJson(made === undefined ? basics(event) : made(selected)),
    }));
  },
});

function sending(
  params: Params,
  env: ActionEnv,
  jobOf: (selected: Value, event: ActionEvent) => WebJob,
): ActionRun {
  const resource = String(params['$resource']);
  let underWay = 0;
  let underWayBytes = 0;
  return async (selected, event) => {
    // Before it is made: what is refused costs nothing.
    if (underWay >= underWayMax || underWayBytes >= underWayBytesMax) {
      throw new Error(`Cannot tell the web server: ${underWay} events are on their way already`);
    }
    const job = jobOf(selected, event);
    const bytes = job.body.length + job.path.length + 200;
    underWay++;
    underWayBytes += bytes;
    try {
      await env.perform({ resource, action: env.actionId, job, bytes });
    } finally {
      underWay--;
      underWayBytes -= bytes;
    }
  };
}

function bodyMaker(params: Params): (selected: Value) => string | Uint8Array {
  const text = String(params['payload_tmpl']);
  if (text !== '') {
    const whole = new Template(text);
    return (selected) => whole.renderBytes(selected);
  }
  const made = filler(params['template'] as Value);
  return made === undefined ? toJson : (selected) => toJson(made(selected));
}

/** Undefined: nothing is to be filled. */
function filler(value: Value): ((selected: Value) => Value) | undefined {
  return isMap(value) && Object.keys(value).length === 0 ? undefined : filled(value);
}

/** Bounded in depth by the limits of what can be kept of a rule. */
function filled(value: Value): (selected: Value) => Value {
  if (typeof value === 'string') {
    const one = new Template(value);
    return (selected) => {
      const whole = one.valueIn(selected);
      if (whole === undefined) return one.render(selected);
      return isMissing(whole.value) ? null : whole.value;
    };
  }
  if (isList(value)) {
    const items = value.map(filled);
    return (selected) => items.map((item) => item(selected));
  }
  if (!isMap(value)) return () => value;
  const members = Object.entries(value).map(([key, item]) => [key, filled(item)] as const);
  return (selected) => {
    const map: WritableMap = {};
    for (const [key, item] of members) setKey(map, key, item(selected));
    return map;
  };
}

function basics(event: ActionEvent): Value {
  const of = (name: string): Value => (event.get(name) ?? null) as Value;
  return { event: of('event'), client_id: of('client_id'), username: of('username') };
}

function pathOf(path: Template, selected: Value): string {
  const missing = path.missingIn(selected);
  if (missing !== undefined) throw new Error(`Cannot make the path: ${missing} has no value`);
  return path.renderEach(selected, (text) => {
    if (text === '.' || text === '..') {
      throw new Error(`Cannot make the path: "${text}" would lead out of it`);
    }
    return encodeURIComponent(text.toWellFormed());
  });
}

function headersOf(
  headers: readonly (readonly [string, Template])[],
  selected: Value,
): Record<string, string> {
  return Object.fromEntries(headers.map(([name, value]) => [name, value.render(selected)]));
}
