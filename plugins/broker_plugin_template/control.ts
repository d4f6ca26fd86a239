// Runs once, in the control thread: what all workers share, and what operations work with.

import type { ControlContext, ControlPart } from '#sdk';
import type { TemplateSettings } from './config.ts';

export class TemplateService {
  readonly #context: ControlContext<TemplateSettings>;
  readonly #met = new Set<string>();
  #greeting: string;

  constructor(context: ControlContext<TemplateSettings>) {
    this.#context = context;
    this.#greeting = context.settings.greeting;
  }

  get greeting(): string {
    return this.#greeting;
  }

  get clientsMet(): number {
    return this.#met.size;
  }

  meet(clientId: string): void {
    // Whatever grows has a limit.
    if (this.#met.size < this.#context.settings.clientsMax) this.#met.add(clientId);
  }

  /** Until the plugin starts anew. */
  async greet(greeting: string): Promise<void> {
    this.#greeting = greeting;
    await this.#context.share(greeting);
  }

  /** How often each hook was called, over all workers. */
  async calls(): Promise<Record<string, number>> {
    const { answers } = await this.#context.askWorkers('calls');
    const sum: Record<string, number> = {};
    for (const [, calls] of answers) {
      for (const [hook, count] of Object.entries(calls as Record<string, number>)) {
        sum[hook] = (sum[hook] ?? 0) + count;
      }
    }
    return sum;
  }
}

const part: ControlPart<TemplateSettings, TemplateService> = (ctx) => {
  const service = new TemplateService(ctx);
  ctx.answers({ met: (clientId: string) => service.meet(clientId) });
  return service;
};

export default part;
