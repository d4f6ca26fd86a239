// Bytes as a latin1 string: one character per byte, the cheapest way to make bytes a map key.
// `latin1Slice` is what `toString('latin1')` calls after looking up the encoding's name; typings
// leave it out.

interface Latin1Sliced {
  latin1Slice(start?: number, end?: number): string;
}

export function latin1Of(bytes: Buffer, start: number, end: number): string {
  return (bytes as unknown as Latin1Sliced).latin1Slice(start, end);
}
