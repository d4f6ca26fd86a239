// The access rules of a worker, as the hooks that ask them. Laws: rules take the place of others in one
// step, so that nobody is decided about by half of them or by none; text that is no rules changes
// nothing; without rules there is no hook, and the data path is what it is without access rules.

import type { Hooks, HookWish } from '#hooks/runner';
import type { AccessAction } from '#core/access';
import { describeRule, parseAcl } from './acl-file.ts';
import { AclRules } from './acl-rules.ts';
import type { AclClient } from './acl-who-index.ts';

/** Who decides where the rules do, in explanations and lists of hooks. */
export const aclOwner = 'acl_internal';
/** Plugins are asked before the file. */
export const aclPriority: number = -1;

/** A rule, for people. */
export interface ShownRule {
  readonly line: number;
  /** `{deny, all, subscribe, ["$SYS/#"]}.` */
  readonly text: string;
}

export interface AclHookOptions {
  readonly hooks: Pick<Hooks, 'replace'>;
  /** `acl.recheck`: what was retained is asked about, too. */
  readonly isRechecked: boolean;
}

export class AclHook {
  readonly #options: AclHookOptions;
  #rules = new AclRules([]);

  constructor(options: AclHookOptions) {
    this.#options = options;
  }

  get rules(): AclRules {
    return this.#rules;
  }

  /** In place of what there was; what was remembered of decisions is forgotten. Throws an AclError. */
  set(text: string): void {
    const rules = new AclRules(parseAcl(text));
    this.#rules = rules;
    // Whoever registers or leaves makes the worker forget what it remembers of rights.
    this.#options.hooks.replace(aclOwner, rules.rules.length === 0 ? [] : this.#wishes(rules));
  }

  /** The rule that decides; undefined: none. */
  ruleFor(client: AclClient, action: AccessAction, topic: string): ShownRule | undefined {
    const decision = this.#rules.decide(client, action, topic);
    return decision && { line: decision.rule.line, text: describeRule(decision.rule) };
  }

  #wishes(rules: AclRules): HookWish[] {
    const answer = (
      client: AclClient,
      action: AccessAction,
      topic: string,
    ): 'allow' | 'deny' | 'ignore' => {
      const decision = rules.decide(client, action, topic);
      if (decision === undefined) return 'ignore';
      return decision.isAllowed ? 'allow' : 'deny';
    };
    const asked: HookWish = { hook: 'client.check_acl', call: answer, priority: aclPriority };
    if (!this.#options.isRechecked) return [asked];
    const retained = (publisher: AclClient, topic: string): ReturnType<typeof answer> =>
      answer(publisher, 'publish', topic);
    return [asked, { hook: 'message.check_retained', call: retained, priority: aclPriority }];
  }
}
