import assert from 'node:assert/strict';
import test from 'node:test';
import { AnswerTable } from './answer-table.ts';

test('questions are answered by name, the last answer that was given for it', async () => {
  const table = new AnswerTable('p');
  table.add({ double: (n: number) => n * 2, name: async () => 'old' });
  table.add({ name: () => 'new' });
  assert.equal(await table.ask('double', [21]), 42);
  assert.equal(await table.ask('name', []), 'new');
});

test('a question that nobody answers is refused, also one that every object has', async () => {
  const table = new AnswerTable('p');
  await assert.rejects(table.ask('x', []), /Cannot ask p for "x": it answers nothing/);
  table.add({ y: () => 1 });
  await assert.rejects(table.ask('toString', []), /Cannot ask p for "toString": it answers y/);
});

test('an answer that throws rejects', async () => {
  const table = new AnswerTable('p');
  table.add({
    bad: () => {
      throw new Error('broken');
    },
  });
  await assert.rejects(table.ask('bad', []), /broken/);
});
