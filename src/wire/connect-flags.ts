// The bits of a CONNECT that reading and writing share.

export const connectFlags = {
  reserved: 0x01,
  cleanStart: 0x02,
  will: 0x04,
  willRetain: 0x20,
  password: 0x40,
  username: 0x80,
} as const;

/** The two bits of the will's QoS begin here. */
export const willQosShift = 3;

/** The high bit of the protocol level. */
export const bridgeBit = 0x80;
