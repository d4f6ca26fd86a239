// Moments as management shows them: `YYYY-MM-DD hh:mm:ss` in the local time of the machine, which is what
// clients of the API know. By hand, because `Intl` takes some ten times as long and lists have many rows.

/** Of ms since the epoch. */
export function localTime(ms: number): string {
  const time = new Date(ms);
  const day = `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
  return `${day} ${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`;
}

function two(number: number): string {
  return number < 10 ? `0${number}` : `${number}`;
}

/** Seconds since the epoch of what `localTime` wrote, as the console shows them. */
export function secondsOf(text: string): number {
  return Date.parse(text.replace(' ', 'T')) / 1000;
}
