// One filter against one topic, as one scan over both texts that allocates nothing. The tries of
// this folder answer the same question for many filters or many names at once, and are tested
// against this law.

const hash = 0x23;
const dollar = 0x24;
const plus = 0x2b;
const slash = 0x2f;

/**
 * Whether a topic name is among those that a filter stands for. Given a filter in place of the
 * topic (access control of SUBSCRIBE), it asks whether the first covers the second level by level:
 * `+` covers `+` but not `#`, so who may read `a/+` may not subscribe to `a/#`.
 */
export function matches(filter: string, topic: string): boolean {
  if (topic.charCodeAt(0) === dollar && beginsWithWildcard(filter)) return false; // [MQTT-4.7.2-1]
  let f = 0;
  let t = 0;
  for (;;) {
    // Here f and t both stand at the beginning of a level.
    if (isLevel(filter, f, plus)) {
      if (isLevel(topic, t, hash)) return false;
      f++;
      t = levelEnd(topic, t);
    } else if (isLevel(filter, f, hash) && f + 1 === filter.length) {
      return true;
    } else {
      const end = levelEnd(filter, f);
      for (; f < end; f++, t++) if (filter.charCodeAt(f) !== topic.charCodeAt(t)) return false;
      if (t < topic.length && topic.charCodeAt(t) !== slash) return false;
    }
    // Here both stand at the end of a level.
    if (t === topic.length) return f === filter.length || endsInHash(filter, f);
    if (f === filter.length) return false;
    f++;
    t++;
  }
}

export function beginsWithWildcard(filter: string): boolean {
  const first = filter.charCodeAt(0);
  return first === plus || first === hash;
}

/** Whether nothing but `/#` follows, which also stands for the level before it. */
export function endsInHash(filter: string, at: number): boolean {
  return at + 2 === filter.length && filter.charCodeAt(at + 1) === hash;
}

/** Where the level that begins at `start` ends. */
export function levelEnd(text: string, start: number): number {
  const end = text.indexOf('/', start);
  return end < 0 ? text.length : end;
}

/** Whether the level that begins at `start` is just this one character. */
function isLevel(text: string, start: number, char: number): boolean {
  if (text.charCodeAt(start) !== char) return false;
  return start + 1 === text.length || text.charCodeAt(start + 1) === slash;
}
