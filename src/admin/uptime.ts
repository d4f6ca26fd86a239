// How long a node has been running, in the words that clients of the management interface know.

const secondMs = 1000;
const minuteSeconds = 60;
const hourSeconds = 60 * minuteSeconds;
const daySeconds = 24 * hourSeconds;

/** `1 days,18 hours, 45 minutes, 1 seconds`: from the largest unit on, always plural, days without a blank. */
export function uptimeText(ms: number): string {
  const total = Math.max(0, Math.floor(ms / secondMs));
  const seconds = `${total % minuteSeconds} seconds`;
  if (total < minuteSeconds) return seconds;
  const minutes = `${Math.floor((total % hourSeconds) / minuteSeconds)} minutes, ${seconds}`;
  if (total < hourSeconds) return minutes;
  const hours = `${Math.floor((total % daySeconds) / hourSeconds)} hours, ${minutes}`;
  if (total < daySeconds) return hours;
  return `${Math.floor(total / daySeconds)} days,${hours}`;
}
