// The syntax of a configuration file: `key = value` lines. A line that begins with # is a comment,
// and so is what follows a # with a space before it; a # inside a word (`a/#`) belongs to the
// value. A value in double quotes keeps everything, with \" and \\ inside.

export interface Line {
  readonly line: number;
  readonly key: string;
  readonly value: string;
}

export interface BadLine {
  readonly line: number;
  readonly key: string;
  readonly text: string;
}

export interface ParsedFile {
  readonly lines: readonly Line[];
  readonly bad: readonly BadLine[];
}

export function parseConf(source: string): ParsedFile {
  const lines: Line[] = [];
  const bad: BadLine[] = [];
  const firstSeen = new Map<string, number>();
  const byteOrderMark = /^\uFEFF/;
  for (const [index, raw] of source
    .replace(byteOrderMark, '')
    .split(/\r\n|\r|\n/)
    .entries()) {
    const line = index + 1;
    const content = raw.trim();
    if (content === '' || content.startsWith('#')) continue;
    const parsed = parseLine(content);
    if (typeof parsed.value !== 'string') {
      bad.push({ line, key: parsed.key, text: parsed.value.refused });
      continue;
    }
    const { key, value } = parsed as { key: string; value: string };
    const earlier = firstSeen.get(key);
    if (earlier !== undefined) {
      bad.push({ line, key, text: `Cannot set ${key} twice: line ${earlier} sets it already` });
      continue;
    }
    firstSeen.set(key, line);
    lines.push({ line, key, value });
  }
  return { lines, bad };
}

interface Refused {
  readonly refused: string;
}

function parseLine(content: string): { key: string; value: string | Refused } {
  const equals = content.indexOf('=');
  if (equals < 0) {
    return { key: '', value: { refused: `Cannot read "${content}": expected key = value` } };
  }
  const key = content.slice(0, equals).trim();
  if (key === '' || /[\s"#]/.test(key)) {
    return {
      key: '',
      value: { refused: `Cannot read key "${key}": expected a word such as node.name` },
    };
  }
  return { key, value: parseValue(content.slice(equals + 1).trim(), key) };
}

/** A value as this syntax reads it back; it has to be one line. */
export function quoteValue(text: string): string {
  const isPlain = text !== '' && text.trim() === text && !/(^"|(^|\s)#)/.test(text);
  return isPlain ? text : `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
}

function parseValue(text: string, key: string): string | Refused {
  if (!text.startsWith('"')) {
    const bare = text.replace(/(^|\s)#.*$/, '').trimEnd();
    return bare === '' ? { refused: `Cannot set ${key}: the value is missing` } : bare;
  }
  const quoted = /^"((?:[^"\\]|\\["\\])*)"\s*(#.*)?$/.exec(text);
  if (!quoted) {
    return {
      refused: `Cannot read the value of ${key}: expected one text in double quotes, with \\" and \\\\ inside it`,
    };
  }
  return (quoted[1] ?? '').replace(/\\(["\\])/g, '$1');
}
