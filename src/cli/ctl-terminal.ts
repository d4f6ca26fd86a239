// The output of `broker_ctl`. Law: what a client of the broker has chosen (its id, a topic) cannot give
// orders to the terminal of whoever looks at it; a program that reads gets every byte as it is.

import type { Terminal } from './ctl-call.ts';

interface Output {
  readonly isTTY?: boolean;
  write(text: string): boolean;
  once(event: 'drain', listener: () => void): unknown;
  on(event: 'error', listener: (error: NodeJS.ErrnoException) => void): unknown;
}

export function openTerminal(
  stdout: Output = process.stdout,
  stderr: Output = process.stderr,
  onClosed: () => void = () => process.exit(),
): Terminal {
  // `broker_ctl clients list | head`: nobody wants the rest.
  stdout.on('error', onClosed);
  return { out: (text) => write(stdout, text), err: (text) => write(stderr, text) };
}

async function write(output: Output, text: string): Promise<void> {
  if (output.write(output.isTTY === true ? printable(text) : text)) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  output.once('drain', resolve);
  await promise;
}

/** What no letter, number or mark is, except the ends of lines. */
const unprintable = /(?!\n)[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}]/gu;

export function printable(text: string): string {
  return text.replaceAll(unprintable, (found) => {
    const code = found.codePointAt(0) ?? 0;
    return `\\u{${code.toString(16)}}`;
  });
}
