// What rules cost: ten pairs whose messages one rule is about, in a broker with that rule alone and with a
// thousand, and in one whose rules are all about other topics.

import { accepting, brokers, freePort } from '../brokers.ts';
import type { Load, Outcome, Target } from '../load.ts';
import { runClosedLoop, tenPairs } from '../traffic.ts';

const many = 1000;
const turns = 2;
const secret = 'only-for-this-run';

export const load: Load = {
  title: `10 pairs, QoS 0, with rules: none, one that matches, one of ${many}, ${many} about other topics`,
  figures: ['plainCpuMicros', 'ruleCpuMicros', 'rulesCpuMicros', 'othersCpuMicros', 'rulesTimes'],
  bars: { rulesTimes: { kind: 'atMost', bar: 1.1, reach: 1.02 } },
  brokers: ['ours'],
  launches: true,
  run,
};

const cases = {
  plain: { isMatched: false, others: 0 },
  one: { isMatched: true, others: 0 },
  many: { isMatched: true, others: many - 1 },
  others: { isMatched: false, others: many },
} as const;
type Case = keyof typeof cases;

async function run(target: Target): Promise<Outcome> {
  const names = Object.keys(cases) as Case[];
  const sums = new Map<Case, number>(names.map((name) => [name, 0]));
  const outcomes: Outcome[] = [];
  for (let turn = 0; turn < turns; turn++) {
    for (const name of names) {
      const outcome = await measured(target, cases[name]);
      outcomes.push(outcome);
      sums.set(name, (sums.get(name) ?? 0) + (outcome.figures.cpuMicros ?? 0));
    }
  }
  const mean = (name: Case): number => (sums.get(name) ?? 0) / turns;
  return {
    figures: {
      plainCpuMicros: mean('plain'),
      ruleCpuMicros: mean('one'),
      rulesCpuMicros: mean('many'),
      othersCpuMicros: mean('others'),
      rulesTimes: mean('many') / mean('one'),
    },
    lost: outcomes.reduce((sum, { lost }) => sum + lost, 0),
    extra: outcomes.reduce((sum, { extra }) => sum + extra, 0),
    notes: outcomes.flatMap(({ notes }) => notes),
  };
}

async function measured(target: Target, wanted: (typeof cases)[Case]): Promise<Outcome> {
  const httpPort = await freePort();
  const running = brokers.ours.launch(target.port, {
    settings: [
      `management.listener.http=127.0.0.1:${httpPort}`,
      `management.default_application.secret=${secret}`,
      ...(target.settings ?? []),
    ],
    mosquittoNodelay: false,
  });
  try {
    await accepting(target.port, running);
    await accepting(httpPort, running);
    await createRules(httpPort, wanted);
    return await runClosedLoop(tenPairs(0), { ...target, pid: running.pid });
  } finally {
    await running.stop();
  }
}

async function createRules(
  port: number,
  { isMatched, others }: (typeof cases)[Case],
): Promise<void> {
  const filters = Array.from({ length: others }, (_, i) => `elsewhere/${i}`);
  const rules = [...filters, ...(isMatched ? ['bench/#'] : [])].map((filter, i) => ({
    id: `rule:${i.toString(16).padStart(8, '0')}`,
    rawsql: `SELECT topic, qos FROM "${filter}" WHERE qos >= 0`,
    actions: [{ name: 'do_nothing', params: {} }],
  }));
  if (rules.length === 0) return;
  const answer = await fetch(`http://127.0.0.1:${port}/api/v3/rules/import`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`admin:${secret}`)}` },
    body: JSON.stringify({ version: 1, rules }),
  });
  const { code, message } = (await answer.json()) as { code: number; message?: string };
  if (code !== 0) throw new Error(`Cannot create the rules: ${message}`);
}
