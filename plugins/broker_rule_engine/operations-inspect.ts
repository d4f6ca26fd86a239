// What the action `inspect` sees, live: as server-sent events, and on the command line. Laws: who reads
// slowly loses sights, and so does everybody where there are too many, and is told how many; nobody is listened for when nobody reads.

import { type InspectSight, RuleFault, type RuleService } from '#sdk';
import {
  type AnyOperation,
  type Caller,
  defineOperation,
  jsonValue,
  OperatingError,
  serverSentEvent,
  serverSentPulse,
  systemClock,
  Tail,
  type TailPiece,
  Type,
} from '#sdk/operations';
import { tag } from './fields.ts';
import { oneLine } from './rule-row.ts';

const readersMax = 16;

const id = Type.Optional(
  Type.String({ minLength: 1, description: 'Of a rule; of all rules without it' }),
);
const seconds = Type.Optional(
  Type.Integer({
    minimum: 1,
    maximum: 86_400,
    description: 'It ends after so many; without a word when the reader goes',
  }),
);

interface Wish {
  readonly id?: string;
  readonly seconds?: number;
}

export function inspectOperations(service: RuleService): AnyOperation[] {
  const readers = new Readers(service);
  const http = { method: 'GET', produces: 'text/event-stream' } as const;
  const example = { params: { seconds: 1 }, data: ': \n\n…', curl: '-N' };
  return [
    defineOperation({
      name: 'inspect_rules',
      descr:
        'What the action inspect of any rule sees, as server-sent events: inspect (a JSON object), lost (how many)',
      tag,
      http: { ...http, path: '/rules/inspect' },
      params: Type.Object({ seconds }),
      example,
      run: (wish, caller) => events(readers.follow(wish, caller)),
    }),
    defineOperation({
      name: 'inspect_rule',
      descr:
        'What the action inspect of a rule sees, as server-sent events: inspect (a JSON object), lost (how many)',
      tag,
      http: { ...http, path: '/rules/:id/inspect' },
      params: Type.Object({ id: Type.String({ minLength: 1 }), seconds }),
      example: { ...example, params: { id: 'rule:1a2b3c4d', seconds: 1 } },
      run: (wish, caller) => events(readers.follow(wish, caller)),
    }),
    defineOperation({
      name: 'rules_inspect',
      descr: 'Show what the action inspect sees, as it happens',
      tag,
      cli: {
        words: 'rules inspect',
        args: ['id?'],
        options: { '-s': 'seconds' },
        usage: '[<RuleId>] [-s <Seconds>]',
        print: (lines: AsyncIterable<object>) => linesOf(lines),
        printFailure: (_failure, params) => `Cannot found ${params.id}`,
      },
      params: Type.Object({ id, seconds }),
      run: (wish, caller) => sights(readers.follow(wish, caller)),
    }),
  ];
}

/** Who reads along now. */
class Readers {
  readonly #service: RuleService;
  #count = 0;

  constructor(service: RuleService) {
    this.#service = service;
  }

  follow(wish: Wish, { signal }: Caller): AsyncIterable<TailPiece> {
    const service = this.#service;
    if (wish.id !== undefined && service.get(wish.id) === undefined) {
      throw new OperatingError('noRule', 'Not Found');
    }
    if (this.#count >= readersMax) {
      const text = `Cannot inspect: ${readersMax} others do, which is the limit`;
      throw new OperatingError('tooMany', text);
    }
    this.#count++;
    const tail = new Tail({ clock: systemClock });
    const stop = service.onInspect((seen) => {
      if (wish.id !== undefined && wish.id !== seen.ruleId) return;
      if ('lost' in seen) tail.lose(seen.lost);
      else tail.push(textOf(seen));
    });
    const time = wish.seconds === undefined ? undefined : wish.seconds * 1000;
    const timer = time === undefined ? undefined : systemClock.setTimer(time, () => tail.end());
    // Also when nobody has begun to read.
    const abandon = (): void => {
      tail.abandon();
      gone();
    };
    let isGone = false;
    const gone = (): void => {
      if (isGone) return;
      isGone = true;
      this.#count--;
      stop();
      timer?.cancel();
      signal.removeEventListener('abort', abandon);
    };
    tail.onGone = gone;
    signal.addEventListener('abort', abandon, { once: true });
    if (signal.aborted) abandon();
    return tail;
  }
}

function textOf({ ruleId, actionId, atMs, selected, event, params }: InspectSight): string {
  const head = { rule_id: ruleId, action_id: actionId, timestamp: atMs };
  try {
    return JSON.stringify(jsonValue({ ...head, selected, event, params }));
  } catch (error) {
    if (!(error instanceof RuleFault)) throw error;
    return JSON.stringify({ ...head, error: error.message });
  }
}

async function* events(pieces: AsyncIterable<TailPiece>): AsyncGenerator<string> {
  for await (const { texts, lost } of pieces) {
    const seen = texts.map((text) => serverSentEvent('inspect', text)).join('');
    const more = lost === 0 ? '' : serverSentEvent('lost', String(lost));
    yield `${seen}${more}` || serverSentPulse;
  }
}

async function* sights(pieces: AsyncIterable<TailPiece>): AsyncGenerator<object> {
  for await (const { texts, lost } of pieces) {
    for (const text of texts) yield JSON.parse(text) as object;
    if (lost > 0) yield { lost };
  }
}

async function* linesOf(rows: AsyncIterable<object>): AsyncGenerator<string> {
  for await (const row of rows) yield oneLine(JSON.stringify(row));
}
