import assert from 'node:assert/strict';
import test from 'node:test';
import { columnsOf, rowsIn } from './row-columns.ts';

test('rows come out as they went in, also with what is undefined, and none as none', () => {
  const rows = [
    { clientId: 'a', username: undefined, port: 1, isBridge: false },
    { clientId: 'b', username: 'u', port: 2, isBridge: true },
  ];
  assert.deepEqual(rowsIn(structuredClone(columnsOf(rows))), rows);
  assert.deepEqual(rowsIn(columnsOf([])), []);
});
