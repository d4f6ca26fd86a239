// Functions of time: moment.ts for SQL. Units are second, millisecond, microsecond and nanosecond; without a
// word it is second.

import {
  epochOf,
  formatted,
  momentOf,
  momentOfRfc3339,
  momentOfText,
  offsetOf,
  rfc3339,
  unitOf,
} from './moment.ts';
import { bounded } from './json.ts';
import { raise } from './raise.ts';
import { type SqlFunction, sqlFunction } from './sql-function.ts';
import type { Value } from './value.ts';

const formatMax = 1000;

export const dateFunctions: readonly SqlFunction[] = [
  sqlFunction('Date', 'now_timestamp', {
    params: { unit: 'text?' },
    text: 'The time now, as a number since 1970.',
    examples: {
      'now_timestamp()': '1700000000',
      "now_timestamp('nanosecond')": '1700000000123000000',
    },
    call: ({ unit }, { nowMs }) => epochOf(momentOf(nowMs(), 'millisecond'), unitOf(unit)),
  }),
  sqlFunction('Date', 'now_rfc3339', {
    params: { unit: 'text?' },
    text: 'The time now as text, in UTC.',
    examples: {
      'now_rfc3339()': '"2023-11-14T22:13:20Z"',
      "now_rfc3339('millisecond')": '"2023-11-14T22:13:20.123Z"',
    },
    call: ({ unit }, { nowMs }) => rfc3339(momentOf(nowMs(), 'millisecond'), unitOf(unit)),
  }),
  sqlFunction('Date', 'unix_ts_to_rfc3339', {
    params: { time: 'integer', unit: 'text?' },
    text: 'A number since 1970 as text, in UTC.',
    examples: {
      'unix_ts_to_rfc3339(1700000000)': '"2023-11-14T22:13:20Z"',
      "unix_ts_to_rfc3339(1700000000123, 'millisecond')": '"2023-11-14T22:13:20.123Z"',
    },
    call: ({ time, unit }) => rfc3339(momentOf(time, unitOf(unit)), unitOf(unit)),
  }),
  sqlFunction('Date', 'rfc3339_to_unix_ts', {
    params: { text: 'text', unit: 'text?' },
    text: 'A time as text as a number since 1970.',
    examples: {
      "rfc3339_to_unix_ts('2023-11-14T22:13:20Z')": '1700000000',
      "rfc3339_to_unix_ts('2023-11-15T06:13:20.123+08:00', 'millisecond')": '1700000000123',
    },
    call: ({ text, unit }) => epochOf(momentOfRfc3339(text), unitOf(unit)),
  }),
  sqlFunction('Date', 'format_date', {
    params: { unit: 'text', offset: 'value', format: 'text', time: 'integer?' },
    text: "A time (now, without one) at an offset ('Z', '+08:00', 'local', seconds) in a format: %Y %m %d %H %M %S %3N %6N %N %z %:z.",
    examples: {
      "format_date('second', '+08:00', '%Y-%m-%d %H:%M:%S%:z', 1700000000)":
        '"2023-11-15 06:13:20+08:00"',
      "format_date('millisecond', 'Z', '%H:%M:%S.%3N')": '"22:13:20.123"',
    },
    call: ({ unit, offset, format, time }, { nowMs }) => {
      const known = unitOf(unit);
      const moment = time === undefined ? momentOf(nowMs(), 'millisecond') : momentOf(time, known);
      return bounded(formatted(moment, offsetOf(offsetValue(offset), moment), short(format)));
    },
  }),
  sqlFunction('Date', 'date_to_unix_ts', {
    params: { unit: 'text', offset: 'value', format: 'text', text: 'text?' },
    text: 'date_to_unix_ts(unit, format, text) and date_to_unix_ts(unit, offset, format, text): the time that a text says, as a number since 1970.',
    examples: {
      "date_to_unix_ts('second', '%Y-%m-%d %H:%M:%S%:z', '2023-11-15 06:13:20+08:00')":
        '1700000000',
      "date_to_unix_ts('second', '+08:00', '%Y-%m-%d %H:%M:%S', '2023-11-15 06:13:20')":
        '1700000000',
    },
    call: ({ unit, offset, format, text }) => {
      const moment =
        text === undefined
          ? momentOfText(format, short(formatValue(offset)), 'Z')
          : momentOfText(text, short(format), offsetValue(offset));
      return epochOf(moment, unitOf(unit));
    },
  }),
];

function offsetValue(value: Value): string | number | bigint {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint')
    return value;
  return raise(() => 'an offset is a text or a number of seconds');
}

function formatValue(value: Value): string {
  return typeof value === 'string' ? value : raise(() => 'a format is a text');
}

function short(format: string): string {
  if (format.length > formatMax) raise(() => `the format has more than ${formatMax} characters`);
  return format;
}
