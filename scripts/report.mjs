// A short test report: a dot for each file, failures in full with what their file printed, skipped
// tests with their reasons, and node's own closing lines last, where people and CI look for them.

import { relative, resolve } from 'node:path';
import { inspect } from 'node:util';

/** @param {AsyncIterable<{ type: string, data: any }>} events */
export default async function* report(events) {
  /** What each file wrote, its diagnostics included: a random test prints its seed there. */
  const printed = new Map();
  const note = (path, text) => {
    const file = resolve(path); // Relative in one event, absolute in the next.
    printed.set(file, (printed.get(file) ?? '') + text);
  };
  const failures = [];
  const skipped = [];
  let summary;

  for await (const { type, data } of events) {
    switch (type) {
      case 'test:stdout':
      case 'test:stderr':
        note(data.file, data.message);
        break;
      case 'test:diagnostic':
        if (data.file !== undefined) note(data.file, `${data.message}\n`);
        break;
      case 'test:fail':
        if (data.details.error?.failureType !== 'subtestsFailed') failures.push(data);
        yield isFile(data) ? '' : 'F';
        break;
      case 'test:pass':
        if (data.skip !== undefined) skipped.push(data);
        break;
      case 'test:summary':
        if (data.file === undefined) summary = data;
        else yield '.';
        break;
    }
  }

  yield '\n';
  for (const failure of failures) yield describe(failure);
  for (const file of new Set(failures.map((failure) => failure.file))) {
    if (printed.has(file))
      yield `\n— ${place({ file })} printed:\n${printed.get(file).trimEnd()}\n`;
  }
  if (skipped.length > 0) yield '\nSkipped:\n';
  for (const test of skipped) {
    const reason =
      typeof test.skip === 'string' && test.skip !== '' ? test.skip : 'no reason given';
    yield `  ${test.name} (${place(test)}): ${reason}\n`;
  }
  if (summary?.counts.tests === 0) {
    process.exitCode = 1;
    yield '\nCannot test anything: no test matched\n';
  }
  yield closing(summary, failures);
}

function describe(failure) {
  const error = failure.details.error;
  const cause = error?.cause ?? error;
  // What an assertion has to say is in its message; its fields repeat it.
  const isAssertion = cause?.code === 'ERR_ASSERTION';
  const text = isAssertion
    ? cause.stack
    : typeof cause === 'object'
      ? inspect(cause)
      : String(cause);
  const own = text.replaceAll(/^ +at .*\(?node:(?:internal|async_hooks).*\n?/gm, '');
  return `\n✖ ${isFile(failure) ? 'the file did not run to its end' : failure.name}\n  ${place(failure)}\n${indent(own)}\n`;
}

/** The runner reports each file as a test of its own, named by its path. */
function isFile(test) {
  return test.nesting === 0 && test.line === 1 && test.column === 1;
}

function place({ file = '', line }) {
  const path = relative(process.cwd(), file);
  return line === undefined ? path : `${path}:${line}`;
}

function indent(text) {
  return text.replaceAll(/^(?=.)/gm, '    ');
}

function closing(summary, failures) {
  const counts = summary?.counts ?? { failed: failures.length };
  const lines = [
    ['tests', counts.tests],
    ['suites', counts.suites],
    ['pass', counts.passed],
    ['fail', counts.failed],
    ['cancelled', counts.cancelled],
    ['skipped', counts.skipped],
    ['todo', counts.todo],
    ['duration_ms', summary?.duration_ms],
  ];
  return `\n${lines.map(([name, count = 0]) => `ℹ ${name} ${count}`).join('\n')}\n`;
}
