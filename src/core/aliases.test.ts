import assert from 'node:assert/strict';
import test from 'node:test';
import { ProtocolError } from '#wire/protocol-error';
import { Reason } from '#wire/reason-codes';
import { InboundAliases, OutboundAliases } from './aliases.ts';
import { bareRouter } from './session-fixture.ts';

const router = bareRouter();
const refusedWith =
  (code: number) =>
  (error: unknown): boolean =>
    error instanceof ProtocolError && error.reasonCode === code;

test('inbound aliases name topics, and may name another one later', () => {
  const aliases = new InboundAliases(2);
  aliases.set(1, router.routeTo('a'));
  aliases.set(2, router.routeTo('b'));
  assert.equal(aliases.get(1).topic, 'a');
  aliases.set(1, router.routeTo('c'));
  assert.equal(aliases.get(1).topic, 'c');
  assert.equal(aliases.get(2).topic, 'b');
});

test('inbound aliases refuse numbers over the limit and numbers that name nothing', () => {
  const aliases = new InboundAliases(2);
  const route = router.routeTo('a');
  assert.throws(() => aliases.set(3, route), refusedWith(Reason.topicAliasInvalid));
  assert.throws(() => aliases.get(3), refusedWith(Reason.topicAliasInvalid));
  assert.throws(() => aliases.get(2), refusedWith(Reason.protocolError));
  assert.throws(() => new InboundAliases(0).set(1, route), refusedWith(Reason.topicAliasInvalid));
});

test('outbound aliases count from 1 to what the client allows, each topic once', () => {
  const aliases = new OutboundAliases(2);
  assert.equal(aliases.known('a'), undefined);
  assert.equal(aliases.free(), 1);
  assert.equal(aliases.free(), 1, 'an alias that was not given is free again');
  aliases.given('a', 1);
  assert.equal(aliases.known('a'), 1);
  assert.equal(aliases.free(), 2);
  aliases.given('b', 2);
  assert.equal(aliases.free(), undefined);
  assert.equal(aliases.known('c'), undefined);
});

test('outbound aliases end at our own limit when the client allows more', () => {
  const aliases = new OutboundAliases(65_535);
  for (let i = 1; i <= 256; i++) {
    assert.equal(aliases.free(), i);
    aliases.given(`t${i}`, i);
  }
  assert.equal(aliases.free(), undefined);
});
