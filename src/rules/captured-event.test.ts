import assert from 'node:assert/strict';
import test from 'node:test';
import { capture, capturedBytesMax } from './captured-event.ts';
import { messageView, recordOfMessage } from './preview-fixture.ts';

test('a captured event has the columns of the event, after its bytes were overwritten', () => {
  const message = messageView('t/1', Buffer.from([0xff, 0xfe]));
  const properties = { correlationData: Buffer.from('abc') };
  const record = recordOfMessage({ ...message, properties });
  const shown = structuredClone(record.columns());
  const captured = capture('message.publish', 't/1', record);
  message.payload.fill(0);
  properties.correlationData.fill(0);
  assert.deepEqual(structuredClone(captured?.record.columns()), shown);
  assert.deepEqual(captured?.record.get('payload'), Buffer.from([0xff, 0xfe]));
  assert.match(JSON.stringify(captured?.record.get('pub_props')), /97,98,99|abc|YWJj/);
  assert.equal(captured?.record.get('__proto__'), undefined);
  assert.equal(captured?.record.get('constructor'), undefined);
});

test('a captured event has the JSON of its payload, and none where there is none', () => {
  const jsonOf = (payload: string): unknown =>
    capture('message.publish', 't', recordOfMessage(messageView('t', payload)))?.record.json();
  assert.deepEqual(jsonOf('{"x":1}'), { x: 1 });
  assert.equal(jsonOf('no'), undefined);
});

test('a captured event reads the JSON of its payload once, whoever asks for it', () => {
  const captured = capture('message.publish', 't', recordOfMessage(messageView('t', '{"x":1}')));
  assert.ok(captured);
  assert.equal(captured.record.json(), captured.record.json());
});

test('an event that is too large is not captured', () => {
  const captureOf = (length: number): unknown => {
    const record = recordOfMessage(messageView('t', 'x'.repeat(length)));
    return capture('message.publish', 't', record);
  };
  assert.equal(captureOf(capturedBytesMax), undefined);
  assert.notEqual(captureOf(capturedBytesMax / 4), undefined);
  const bytes = recordOfMessage(messageView('t', Buffer.alloc(capturedBytesMax, 0xff)));
  assert.equal(capture('message.publish', 't', bytes), undefined);
});
