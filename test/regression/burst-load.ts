// A process that opens many connections at once, each with a CONNECT, and tells its parent what became
// of them: let in, refused by a CONNACK, closed without one, or none of these before the deadline. Those
// let in stay until the parent has heard of all.

import { connect, type Socket } from 'node:net';
import { encodePacket } from '#wire/encode';

export interface BurstOutcome {
  accepted: number;
  refused: number;
  closed: number;
  hanging: number;
}

const [port = 0, count = 0, deadlineMs = 0] = process.argv.slice(2).map(Number);
const outcome: BurstOutcome = { accepted: 0, refused: 0, closed: 0, hanging: count };
const sockets: Socket[] = [];
const deadline = setTimeout(report, deadlineMs);
for (let i = 0; i < count; i++) sockets.push(attempt(i));

function attempt(number: number): Socket {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true });
  let isSettled = false;
  const settle = (as: 'accepted' | 'refused' | 'closed'): void => {
    if (isSettled) return;
    isSettled = true;
    outcome[as]++;
    outcome.hanging--;
    if (outcome.hanging === 0) report();
  };
  socket.write(
    encodePacket(
      {
        type: 'connect',
        version: 4,
        isBridge: false,
        cleanStart: true,
        keepaliveSeconds: 0,
        clientId: `burst-${process.pid}-${number}`,
        properties: {},
      },
      4,
    ),
  );
  socket.on('data', (bytes: Buffer) => {
    if (bytes[0] === 0x20) settle(bytes[3] === 0 ? 'accepted' : 'refused');
  });
  // 'close' follows.
  socket.on('error', () => undefined);
  socket.on('close', () => settle('closed'));
  return socket;
}

function report(): void {
  clearTimeout(deadline);
  process.send?.({ ...outcome });
}

process.on('disconnect', () => {
  // Reset, so that no port stays occupied for a minute.
  for (const socket of sockets) socket.resetAndDestroy();
});
