// Makes a value of plain objects, arrays and maps unchangeable, all the way down.

export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  if (value instanceof Map) {
    for (const item of value.values()) deepFreeze(item);
    // Freezing an object leaves the entries of a map open.
    Object.assign(value, { set: refuse, delete: refuse, clear: refuse });
  }
  Object.freeze(value);
  for (const item of Object.values(value)) deepFreeze(item);
  return value;
}

function refuse(): never {
  throw new TypeError('Cannot change the settings: they are frozen');
}
