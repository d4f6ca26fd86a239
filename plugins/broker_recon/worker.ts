// Answers for the thread of a worker.

import type { WorkerPart } from '#sdk';
import { answersOf } from './thread-answers.ts';

const part: WorkerPart<undefined> = (ctx) => ctx.answers(answersOf(ctx));

export default part;
