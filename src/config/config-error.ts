// What is wrong with a configuration: all of it at once, each with the place where it was found.

export interface ConfigProblem {
  /** `etc/broker.conf:12`, `environment BROKER_NODE__NAME`, `--set`. */
  readonly where: string;
  readonly key: string;
  /** What was found and what is allowed. */
  readonly text: string;
}

export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly ConfigProblem[];

  constructor(problems: readonly ConfigProblem[]) {
    const lines = problems.map(({ where, text }) => `  ${where}: ${text}`);
    const count = problems.length === 1 ? '1 problem' : `${problems.length} problems`;
    super([`Cannot use the configuration: ${count}`, ...lines].join('\n'));
    this.problems = problems;
  }
}
