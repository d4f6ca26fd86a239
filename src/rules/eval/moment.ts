// Moments and how they are written. Laws: a moment is whole seconds since 1970 and nanoseconds, so that no
// unit loses digits; years are 0000 to 9999; text is read strictly, whatever is not understood raises.
//
//   %Y year  %m month  %d day  %H hour  %M minute  %S second  %3N ms  %6N µs  %N ns  %z +0800  %:z +08:00
//   %::z +08:00:00  %% percent

import { raise } from './raise.ts';
import { integerOf } from './value.ts';

export interface Moment {
  readonly seconds: number;
  readonly nanos: number;
}

/** How many make a second. */
const units = {
  second: 1n,
  millisecond: 1_000n,
  microsecond: 1_000_000n,
  nanosecond: 1_000_000_000n,
};
export type TimeUnit = keyof typeof units;
const nanosPerSecond = 1_000_000_000n;
const fractionDigits: Readonly<Record<TimeUnit, number>> = {
  second: 0,
  millisecond: 3,
  microsecond: 6,
  nanosecond: 9,
};
const secondsMin = Date.parse('0000-01-01T00:00:00Z') / 1000;
const secondsMax = Date.parse('9999-12-31T23:59:59Z') / 1000;

export function unitOf(word: string | undefined): TimeUnit {
  if (word === undefined) return 'second';
  if (Object.hasOwn(units, word)) return word as TimeUnit;
  return raise(() => `there is no unit "${word}", only ${Object.keys(units).join(', ')}`);
}

export function momentOf(epoch: number | bigint, unit: TimeUnit): Moment {
  const per = units[unit];
  const whole = BigInt(typeof epoch === 'number' ? Math.floor(epoch) : epoch);
  const rest = ((whole % per) + per) % per;
  return checked({
    seconds: Number((whole - rest) / per),
    nanos: Number(rest * (nanosPerSecond / per)),
  });
}

export function epochOf({ seconds, nanos }: Moment, unit: TimeUnit): number | bigint {
  const per = units[unit];
  return integerOf(BigInt(seconds) * per + (BigInt(nanos) * per) / nanosPerSecond);
}

function checked(moment: Moment): Moment {
  if (moment.seconds < secondsMin || moment.seconds > secondsMax)
    raise(() => 'the year is not 0000 to 9999');
  return moment;
}

/** `Z`, `+08:00`, `+08:00:30`, `local`, or a number of seconds; in seconds. */
export function offsetOf(written: string | number | bigint, at: Moment): number {
  if (typeof written !== 'string') {
    return Math.abs(Number(written)) < 86_400 ? Math.trunc(Number(written)) : wrongOffset(written);
  }
  if (/^z$/i.test(written)) return 0;
  if (written === 'local') return -60 * new Date(at.seconds * 1000).getTimezoneOffset();
  const found = /^([+-])([0-9]{2}):?([0-5][0-9])(?::?([0-5][0-9]))?$/.exec(written);
  if (found === null || Number(found[2]) > 23) return wrongOffset(written);
  const [, sign, hours, minutes, seconds = 0] = found;
  const all = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
  return sign === '-' ? -all : all;
}

function wrongOffset(written: string | number | bigint): never {
  return raise(() => `"${written}" is no offset: Z, local, +hh:mm or seconds are wanted`);
}

export function rfc3339(moment: Moment, unit: TimeUnit): string {
  const digits = fractionDigits[unit];
  return formatted(moment, 0, `%Y-%m-%dT%H:%M:%S${digits > 0 ? `.%${digits}N` : ''}Z`);
}

export function momentOfRfc3339(text: string): Moment {
  const pattern =
    /^([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt ]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}))?([Zz]|[+-][0-9]{2}:[0-9]{2})$/;
  const found = pattern.exec(text);
  if (found === null)
    return raise(() => `"${text.slice(0, 40)}" is no time such as 2024-05-01T10:00:00Z`);
  const [, year, month, day, hour, minute, second, fraction = '', zone = 'Z'] = found;
  const fields = { year, month, day, hour, minute, second };
  return assembled({ ...numbers(fields), nanos: nanosOf(fraction) }, zone);
}

function numbers<K extends string>(fields: Record<K, string | undefined>): Record<K, number> {
  const entries = Object.entries<string | undefined>(fields).map(([name, text]) => [
    name,
    Number(text),
  ]);
  return Object.fromEntries(entries) as Record<K, number>;
}

function nanosOf(fraction: string): number {
  return Number(fraction.padEnd(9, '0'));
}

export interface DateFields {
  year: number;
  month: number;
  day: number;
  hour: number;
  minute: number;
  second: number;
  nanos: number;
}

/** Raises where there is no such day or time. A leap second is the first of the next minute. */
export function assembled(fields: DateFields, zone: string | number | bigint): Moment {
  const { year, month, day, hour, minute, second, nanos } = fields;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  const isDay = date.getUTCMonth() === month - 1 && date.getUTCDate() === day && month > 0;
  if (!isDay || hour > 23 || minute > 59 || second > 60)
    raise(() => 'there is no such date and time');
  const seconds = date.getTime() / 1000 + hour * 3600 + minute * 60 + second;
  // Where clocks change, the offset is that of the moment, which is only known once it is taken off.
  const nearly = seconds - offsetOf(zone, { seconds, nanos });
  return checked({ seconds: seconds - offsetOf(zone, { seconds: nearly, nanos }), nanos });
}

const directives = /%(3N|6N|9N|::z|:z|[^])/gu;

export function formatted(moment: Moment, offset: number, format: string): string {
  const { seconds } = checked({ seconds: moment.seconds + offset, nanos: moment.nanos });
  const date = new Date(seconds * 1000);
  return format.replace(directives, (_, directive: string) =>
    field(directive, date, moment.nanos, offset),
  );
}

function field(directive: string, date: Date, nanos: number, offset: number): string {
  const two = (number: number): string => String(number).padStart(2, '0');
  const fraction = String(nanos).padStart(9, '0');
  switch (directive) {
    case 'Y':
      return String(date.getUTCFullYear()).padStart(4, '0');
    case 'm':
      return two(date.getUTCMonth() + 1);
    case 'd':
      return two(date.getUTCDate());
    case 'H':
      return two(date.getUTCHours());
    case 'M':
      return two(date.getUTCMinutes());
    case 'S':
      return two(date.getUTCSeconds());
    case '3N':
    case '6N':
      return fraction.slice(0, Number(directive[0]));
    case 'N':
    case '9N':
      return fraction;
    case 'z':
    case ':z':
    case '::z': {
      const colon = directive === 'z' ? '' : ':';
      const all = Math.abs(offset);
      const seconds = directive === '::z' ? `:${two(all % 60)}` : '';
      const minutes = two(Math.floor(all / 60) % 60);
      return `${offset < 0 ? '-' : '+'}${two(Math.floor(all / 3600))}${colon}${minutes}${seconds}`;
    }
    case '%':
      return '%';
    default:
      return raise(() => `there is no directive "%${directive}"`);
  }
}

/** What a text says that was written with a format; what the format does not say is 1970-01-01T00:00:00. */
export function momentOfText(
  text: string,
  format: string,
  offset: string | number | bigint,
): Moment {
  const fields: DateFields = {
    year: 1970,
    month: 1,
    day: 1,
    hour: 0,
    minute: 0,
    second: 0,
    nanos: 0,
  };
  let zone = offset;
  let at = 0;
  const take = (pattern: RegExp): string => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found === null) return raise(() => `the text does not have the form "${format}"`);
    at += found[0].length;
    return found[0];
  };
  let literalFrom = 0;
  const passLiteral = (to: number): void => {
    const literal = format.slice(literalFrom, to);
    if (!text.startsWith(literal, at)) raise(() => `the text does not have the form "${format}"`);
    at += literal.length;
  };
  for (const found of format.matchAll(directives)) {
    passLiteral(found.index);
    literalFrom = found.index + found[0].length;
    const directive = found[1] as string;
    if (directive === '%') take(/%/y);
    else if (directive.endsWith('z')) zone = take(/[Zz]|[+-][0-9]{2}:?[0-9]{2}(?::?[0-9]{2})?/y);
    else readField(directive, fields, take);
  }
  passLiteral(format.length);
  if (at < text.length) raise(() => `the text does not have the form "${format}"`);
  return assembled(fields, zone);
}

const names: Readonly<Record<string, keyof DateFields>> = {
  Y: 'year',
  m: 'month',
  d: 'day',
  H: 'hour',
  M: 'minute',
  S: 'second',
};

function readField(directive: string, fields: DateFields, take: (pattern: RegExp) => string): void {
  if (directive.endsWith('N')) {
    const digits = Number(directive.slice(0, -1) || 9);
    fields.nanos = nanosOf(take(new RegExp(`[0-9]{${digits}}`, 'y')));
    return;
  }
  if (!Object.hasOwn(names, directive)) raise(() => `there is no directive "%${directive}"`);
  const name = names[directive] as keyof DateFields;
  fields[name] = Number(take(name === 'year' ? /[0-9]{4}/y : /[0-9]{2}/y));
}
