// REST and commands of the rule engine. Law: what is wrong with a rule is HTTP 200 with code 400 or 404, as
// clients of this interface read it.

import type { AnyOperation } from '#sdk/operations';
import type { RuleEngineService } from './control.ts';
import { actionOperations } from './operations-actions.ts';
import { inspectOperations } from './operations-inspect.ts';
import { previewOperations } from './operations-preview.ts';
import { resourceOperations } from './operations-resources.ts';
import { resourceTypeOperations } from './operations-resource-types.ts';
import { ruleOperations } from './operations-rules.ts';
import { transferOperations } from './operations-transfer.ts';

export default ({ rules, previews, resources }: RuleEngineService): AnyOperation[] => [
  ...ruleOperations(rules),
  ...transferOperations(rules, resources),
  ...inspectOperations(rules),
  ...previewOperations(previews),
  ...actionOperations(rules),
  ...resourceTypeOperations(resources),
  ...resourceOperations(resources),
];
