import assert from 'node:assert/strict';
import test from 'node:test';
import { Happening, type HappeningDetail } from './happening.ts';
import { RuleFault } from './rule-fault.ts';
import { isFrom, sourcesOf } from './sources.ts';
import { parseSql } from './sql/parser.ts';

function of(from: string, forEvents?: string | readonly string[]): unknown {
  const sources = sourcesOf(parseSql(`SELECT * FROM ${from}`), forEvents);
  return sources.map(({ event, filter }) => (filter === undefined ? event : `${event} ${filter}`));
}

const rows: readonly (readonly [string, string | readonly string[] | undefined, unknown])[] = [
  ['"message.publish"', undefined, ['message.publish']],
  ['"message.acked", "client.connack"', undefined, ['message.acked', 'client.connack']],
  ['"$events/message_delivered"', undefined, ['message.deliver']],
  ['"$events/message_publish"', undefined, ['message.publish']],
  ['"$events/session_subscribed"', undefined, ['session.subscribed']],
  ['"a/+", "#"', undefined, ['message.publish a/+', 'message.publish #']],
  ['"$SYS/#"', undefined, ['message.publish $SYS/#']],
  ['"a/#", "client.connected"', undefined, ['message.publish a/#', 'client.connected']],
  // The older form.
  ['"a/#"', 'message.publish', ['message.publish a/#']],
  ['"#"', 'client.connected', ['client.connected']],
  ['"client.connected"', ['client.connected'], ['client.connected']],
];

for (const [from, forEvents, wanted] of rows) {
  test(`FROM ${from}${forEvents === undefined ? '' : ` for ${String(forEvents)}`} is understood`, () => {
    assert.deepEqual(of(from, forEvents), wanted);
  });
}

const faults: readonly (readonly [
  string,
  string | readonly string[] | undefined,
  string,
  RegExp,
])[] = [
  ['"message.published"', undefined, 'unknown_event', /^Event message\.published Not Found$/],
  ['"$events/nothing"', undefined, 'unknown_event', /^Event \$events\/nothing Not Found$/],
  ['"a/#/b"', undefined, 'unknown_event', /nor a topic filter/],
  ['"$share/g/a"', undefined, 'unknown_event', /shared subscription/],
  ['"a"', 'no.event', 'unknown_event', /^Event no\.event Not Found$/],
  ['"a"', [], 'bad_rule', /names no event/],
  [
    '"client.connected"',
    'client.disconnected',
    'bad_rule',
    /"for" says client\.disconnected, FROM/,
  ],
];

for (const [from, forEvents, kind, message] of faults) {
  test(`FROM ${from}${forEvents === undefined ? '' : ` for "${String(forEvents)}"`} is refused`, () => {
    assert.throws(
      () => of(from, forEvents),
      (error) => error instanceof RuleFault && error.kind === kind && message.test(error.message),
    );
  });
}

test('names of later versions may mean a part of an event', () => {
  const happened = (detail: HappeningDetail): Happening =>
    new Happening('n', 0, undefined, undefined, detail);
  const is = (from: string, detail: HappeningDetail): boolean =>
    isFrom(sourcesOf(parseSql(`SELECT * FROM ${from}`)), 't', happened(detail));
  assert.equal(is('"$events/client_connected"', { reasonCode: 0 }), true);
  assert.equal(is('"$events/client_connected"', { reasonCode: 135 }), false);
  assert.equal(is('"client.connected"', { reasonCode: 135 }), true);
  assert.equal(is('"$events/delivery_dropped"', { receiver: 'c' }), true);
  assert.equal(is('"$events/delivery_dropped"', { receiver: undefined }), false);
  assert.equal(is('"t", "u"', {}), true);
  assert.equal(is('"u", "v/#"', {}), false);
});
