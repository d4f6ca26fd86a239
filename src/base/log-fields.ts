// Fields of a log line, made safe to write: secrets and payloads hidden by name, bytes shown as
// their number, errors as what they say, long texts cut, and depth bounded so that a ring of
// objects ends.

const hiddenNames = new Set(['password', 'payload', 'secret', 'authdata', 'authorization']);
const depthMax = 4;

export function cleanFields(fields: object, charsLimit: number): Record<string, unknown> {
  return cleanObject(fields, charsLimit, 1);
}

function cleanObject(fields: object, charsLimit: number, depth: number): Record<string, unknown> {
  const clean: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    clean[name] = isHidden(name) ? '[hidden]' : cleanValue(value, charsLimit, depth);
  }
  return clean;
}

/** `auth_data` and `authData` are the same secret. */
function isHidden(name: string): boolean {
  return hiddenNames.has(name.toLowerCase().replaceAll(/[_-]/g, ''));
}

function cleanValue(value: unknown, charsLimit: number, depth: number): unknown {
  if (typeof value === 'string') return cut(value, charsLimit);
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Error) return cleanError(value, charsLimit, depth);
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (value instanceof Date) return value.toISOString();
  if (depth >= depthMax) return '[deeper]';
  if (Array.isArray(value)) return value.map((item) => cleanValue(item, charsLimit, depth + 1));
  if (value instanceof Set)
    return [...value].map((item) => cleanValue(item, charsLimit, depth + 1));
  if (value instanceof Map) {
    return cleanObject(Object.fromEntries(value), charsLimit, depth + 1);
  }
  return cleanObject(value, charsLimit, depth + 1);
}

function cleanError(error: Error, charsLimit: number, depth: number): object {
  const { name, message, stack, cause } = error;
  const code = (error as NodeJS.ErrnoException).code;
  return {
    name,
    message: cut(message, charsLimit),
    ...(code === undefined ? {} : { code }),
    ...(stack === undefined ? {} : { stack: cut(stack, charsLimit) }),
    ...(cause === undefined || depth >= depthMax
      ? {}
      : { cause: cleanValue(cause, charsLimit, depth + 1) }),
  };
}

function cut(text: string, charsLimit: number): string {
  return charsLimit >= 0 && text.length > charsLimit ? `${text.slice(0, charsLimit)}…` : text;
}
