// The path that a request is for, in whichever form its target is written: `/livez?x` and
// `http://host/livez` are the same.

/** Without origin and query, and as it was sent otherwise. */
export function pathOf(target = ''): string {
  const isAbsolute = !target.startsWith('/');
  const inner = isAbsolute ? target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '') : target;
  return inner.split(/[?#]/, 1)[0] ?? '';
}

/** Whether it is of the API, however it is spelled. */
export function isApiPath(target: string | undefined): boolean {
  return /^\/+api\/+v3(\/|$)/.test(decoded(pathOf(target)));
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    // It is refused for that later, by who knows whom it is for.
    return path;
  }
}
