// The payload that says who it is: publisher, number, topic and QoS, then whatever fills it up.

import type { Level, Sent } from './books.ts';

const numbersMax = 20;

export interface Numbered {
  readonly publisher: string;
  readonly number: number;
  readonly topic: string;
  readonly qos: Level;
}

/** At least so many bytes. */
export function payloadOf({ publisher, number, topic, qos }: Numbered, bytes: number): Buffer {
  return Buffer.from(`${publisher} ${number} ${topic} ${qos} `.padEnd(bytes, '.'));
}

export function parsePayload(payload: Buffer): Numbered {
  const [publisher = '', number, topic = '', qos] = payload.toString('latin1').split(' ', 4);
  return { publisher, number: Number(number), topic, qos: qos === '2' ? 2 : 1 };
}

/** A line for each stream, however many messages it is about. */
export function nameMessages(messages: readonly Sent[]): string[] {
  const streams = Map.groupBy(messages, ({ publisher, topic, qos }) =>
    [publisher, topic, qos].join(' '),
  );
  return [...streams.values()].map((stream) => {
    const [first] = stream;
    const numbers = stream.map(({ number }) => number).sort((a, b) => a - b);
    const shown = numbers.length > numbersMax ? [...numbers.slice(0, numbersMax), '…'] : numbers;
    const named = `"${first?.publisher} ${shown.join(', ')}" on "${first?.topic}"`;
    return `${stream.length} acknowledged of QoS ${first?.qos}: ${named}`;
  });
}
