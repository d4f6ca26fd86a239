import assert from 'node:assert/strict';
import test from 'node:test';
import { type Pausable, Pressure } from './pressure.ts';

class Client implements Pausable {
  readonly name: string;
  isHeldBack = false;
  owesAcknowledgements = false;
  pauses = 0;

  constructor(name: string) {
    this.name = name;
  }

  holdBack(): void {
    this.isHeldBack = true;
    this.pauses++;
  }

  letOn(): void {
    this.isHeldBack = false;
  }
}

function pausedClients(count: number): { pressure: Pressure; clients: Client[] } {
  const pressure = new Pressure();
  const clients = Array.from({ length: count }, (_, i) => new Client(`${i}`));
  for (const client of clients) pressure.pause(client);
  return { pressure, clients };
}

const heldBack = (clients: readonly Client[]): string =>
  clients
    .filter(({ isHeldBack }) => isHeldBack)
    .map(({ name }) => name)
    .join('');

test('a publisher is held back once, however much it publishes', () => {
  const { pressure, clients } = pausedClients(1);
  pressure.pause(clients[0] as Client);
  assert.equal(clients[0]?.pauses, 1);
  assert.equal(pressure.pausedCount, 1);
});

test('publishers are let through in turn, and one that publishes again waits behind the others', () => {
  const { pressure, clients } = pausedClients(3);
  pressure.letThrough(1);
  assert.equal(heldBack(clients), '12');
  pressure.pause(clients[0] as Client);
  pressure.letThrough(2);
  assert.equal(heldBack(clients), '0');
  pressure.letThrough(5);
  assert.equal(heldBack(clients), '');
  assert.equal(pressure.pausedCount, 0);
});

test('only those asked for are let through, and the others keep their places', () => {
  const { pressure, clients } = pausedClients(4);
  for (const i of [2, 3]) (clients[i] as Client).owesAcknowledgements = true;
  pressure.letThrough(1, (one) => one.owesAcknowledgements);
  assert.equal(heldBack(clients), '013');
  pressure.letThrough(1);
  assert.equal(heldBack(clients), '13');
});

test('a connection that has ended is not let on', () => {
  const { pressure, clients } = pausedClients(2);
  pressure.forget(clients[0] as Client);
  pressure.letThrough(2);
  assert.equal(heldBack(clients), '0');
});

test('a look that finds too much held tells, and no other', () => {
  const pressure = new Pressure();
  let told = 0;
  pressure.onHeld = () => void told++;
  pressure.held.messages = 1_000_000;
  pressure.look();
  pressure.heldMax = 1_000_001;
  pressure.look();
  assert.equal(told, 0);
  pressure.held.outboxes = 1;
  pressure.look();
  assert.equal(told, 1);
});
