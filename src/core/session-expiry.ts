// Session expiry as written on the wire: all bits set means never.

const never = 0xffffffff;

export const expiryOf = (seconds: number): number =>
  seconds === never ? Number.POSITIVE_INFINITY : seconds;
