// REST and commands. Each operation is both, where it says so, and is documented by what it declares.

import { type AnyOperation, defineOperation, noParams, Type } from '#sdk/operations';
import type { TemplateService } from './control.ts';

const tag = 'Template';

interface Shown {
  readonly greeting: string;
  readonly clients_met: number;
  readonly hooks: Readonly<Record<string, number>>;
}

export default (service: TemplateService): AnyOperation[] => [showing(service), greeting(service)];

function showing(service: TemplateService): AnyOperation {
  return defineOperation({
    name: 'show_template',
    descr: 'Show greeting, clients met and hooks called',
    tag,
    http: { method: 'GET', path: '/plugin_template' },
    cli: { words: 'template show', args: [], print: linesOf },
    params: noParams,
    result: Type.Object({
      greeting: Type.String(),
      clients_met: Type.Integer(),
      hooks: Type.Record(Type.String(), Type.Integer(), { description: 'Calls by hook' }),
    }),
    example: { data: { greeting: 'Hello', clients_met: 1, hooks: { 'client.connected': 1 } } },
    run: async (): Promise<Shown> => ({
      greeting: service.greeting,
      clients_met: service.clientsMet,
      hooks: await service.calls(),
    }),
  });
}

function linesOf({ greeting: said, clients_met: met, hooks }: Shown): string {
  const calls = Object.values(hooks).reduce((sum, count) => sum + count, 0);
  return [`greeting    : ${said}`, `clients_met : ${met}`, `hooks       : ${calls}`].join('\n');
}

function greeting(service: TemplateService): AnyOperation {
  return defineOperation({
    name: 'set_template_greeting',
    descr: 'Set the greeting, until the plugin starts anew',
    tag,
    http: { method: 'PUT', path: '/plugin_template/greeting' },
    cli: {
      words: 'template greet',
      args: ['greeting'],
      print: (_done, params) => `The greeting is ${params.greeting}`,
    },
    params: Type.Object({
      greeting: Type.String({ minLength: 1, maxLength: 200, description: 'What it says' }),
    }),
    example: { params: { greeting: 'Welcome' } },
    run: async (params) => service.greet(params.greeting),
  });
}
