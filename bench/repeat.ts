// Repetitions of a few small pieces of work in one process, for questions that a whole broker blurs.
// They take turns, so that heat, collections and neighbours hit all of them; each answers a number
// made from its results, which is printed, so that no compiler can leave the work out.

import { median } from './median.ts';

export interface Work {
  readonly name: string;
  /** Does the work so many times; answers anything that depends on every result. */
  run(times: number): number;
}

const turns = 15;
const turnMs = 40;

/** Measures and prints one table: nanoseconds for each piece of work. */
export function report(title: string, works: readonly Work[]): void {
  let consumed = 0;
  const contenders = works.map((work) => {
    const { times, answer } = timesFor(work);
    consumed += answer;
    return { work, times, nanos: [] as number[] };
  });
  for (let turn = 0; turn < turns; turn++) {
    for (const { work, times, nanos } of contenders) {
      const begin = performance.now();
      consumed += work.run(times);
      nanos.push(((performance.now() - begin) * 1e6) / times);
    }
  }
  const rows = contenders.map(({ work, nanos }) =>
    [work.name, median(nanos), Math.min(...nanos), Math.max(...nanos)].map(cell).join(' | '),
  );
  const head = [`${title}: ns each`, 'median', 'least', 'most'].join(' | ');
  console.log([head, '--- | ---: | ---: | ---:', ...rows].map((row) => `| ${row} |`).join('\n'));
  console.log(`\n${turns} turns of ${turnMs} ms each; results came to ${consumed}\n`);
}

/** How often fills a turn; finding out is the warm-up as well. */
function timesFor(work: Work): { times: number; answer: number } {
  let answer = 0;
  for (let times = 1000; ; times *= 2) {
    const begin = performance.now();
    answer += work.run(times);
    const ms = performance.now() - begin;
    if (ms >= turnMs) return { times: Math.ceil((times * turnMs) / ms), answer };
  }
}

function cell(value: string | number): string {
  return typeof value === 'string' ? value : value.toFixed(1);
}
