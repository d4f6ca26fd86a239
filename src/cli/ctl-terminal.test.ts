import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import test from 'node:test';
import { openTerminal } from './ctl-terminal.ts';

function outputs(isTTY: boolean, highWaterMark = 1024) {
  const stdout = Object.assign(new PassThrough({ highWaterMark, encoding: 'utf8' }), { isTTY });
  const stderr = Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY });
  return { stdout, stderr };
}

test('a terminal is not given orders by what clients have chosen', async () => {
  const { stdout, stderr } = outputs(true);
  const terminal = openTerminal(stdout, stderr);
  await terminal.out('Connection(\u001b[2Jc1\u202e)\n└─ ü\n');
  await terminal.err('\u0007\n');
  assert.equal(stdout.read(), 'Connection(\\u{1b}[2Jc1\\u{202e})\n└─ ü\n');
  assert.equal(stderr.read(), '\\u{7}\n');
});

test('a program gets what was said as it is', async () => {
  const { stdout, stderr } = outputs(false);
  await openTerminal(stdout, stderr).out('\u001b[2J\n');
  assert.equal(stdout.read(), '\u001b[2J\n');
});

test('a terminal waits for a reader that is slow, and hears of one that is gone', async () => {
  const { stdout, stderr } = outputs(false, 4);
  const { promise: closed, resolve: onClosed } = Promise.withResolvers<void>();
  const terminal = openTerminal(stdout, stderr, onClosed);
  const seen: string[] = [];
  const writing = terminal.out('long enough').then(() => seen.push('written'));
  await new Promise(setImmediate);
  seen.push('read');
  stdout.read();
  await writing;
  assert.deepEqual(seen, ['read', 'written']);
  stdout.destroy(new Error('EPIPE'));
  await closed;
});
