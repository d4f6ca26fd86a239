// Text for people that quotes what a client sent, which may be as long as a topic.

const textMax = 200;

export function shortened(text: string): string {
  if (text.length <= textMax) return text;
  // Not between the halves of a surrogate pair.
  return `${text.slice(0, textMax).replace(/[\uD800-\uDBFF]$/, '')}…`;
}
