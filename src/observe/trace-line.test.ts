import assert from 'node:assert/strict';
import test from 'node:test';
import { shownPayload, traceFields, traceText } from './trace-line.ts';

test('a line has its time, its level, its event, and fields that have a value', () => {
  const line = traceText(0, 'info', 'message.sent', { to: 'c1', qos: 1, again: undefined });
  assert.equal(line, '1970-01-01T00:00:00.000Z [info] message.sent to=c1 qos=1');
});

test('a value that could be taken for something else is quoted and escaped', () => {
  assert.equal(traceFields({ topic: 'a/+/#', id: '$SYS/x:1' }), ' topic=a/+/# id=$SYS/x:1');
  const hostile = 'x\n2026-01-01T00:00:00.000Z [info] forged\u001b[2J\u0085\u202e\u2028"';
  const text = traceFields({ client: hostile });
  // oxlint-disable-next-line no-control-regex
  assert.doesNotMatch(text, /[\u0000-\u001f\u007f-\u009f\u2028\u202e]/);
  assert.equal(JSON.parse(text.slice(' client='.length)), hostile);
  assert.equal(traceFields({ client: '' }), ' client=""');
});

test('a value that is too long is cut', () => {
  assert.ok(traceFields({ topic: 'x'.repeat(65_535) }).length < 1100);
});

test('a payload is shown by its first 100 bytes, each that is not plain escaped', () => {
  assert.equal(shownPayload(Buffer.from('a"\\\n\u00e9')), '"a\\x22\\x5c\\x0a\\xc3\\xa9"');
  assert.equal(shownPayload(Buffer.alloc(100, 'x')), `"${'x'.repeat(100)}"`);
  assert.equal(shownPayload(Buffer.alloc(101, 'x')), `"${'x'.repeat(100)}"…`);
});
