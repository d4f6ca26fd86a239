// One connection of the generator: a socket, its handshakes and its walker. All connections read
// into one buffer, because what was read is counted before the next read begins.

import { connect, type Socket } from 'node:net';
import {
  connack,
  connectFrame,
  disconnectFrame,
  type FrameSink,
  FrameWalker,
  type Qos,
  suback,
  subscribeFrame,
} from './frames.ts';

const readBuffer = Buffer.allocUnsafeSlow(256 * 1024);
const answerMs = 10_000;

/** What takes a connection's frames once its handshakes are done. */
export interface Receiver extends FrameSink {
  /** Everything that one read brought has been walked. */
  readDone?(): void;
}

export class Client {
  readonly socket: Socket;
  readonly #walker: FrameWalker = new FrameWalker();
  #receiver: Receiver = { frame: () => undefined };
  readonly #closed: PromiseWithResolvers<void> = Promise.withResolvers();

  private constructor(port: number) {
    this.socket = connect({
      host: '127.0.0.1',
      port,
      noDelay: true,
      onread: {
        buffer: readBuffer,
        callback: (length) => {
          this.#walker.walk(readBuffer, length, this.#receiver);
          this.#receiver.readDone?.();
          return true;
        },
      },
    });
    // 'close' follows; whoever waits for an answer, or counts what is still open, sees it there.
    this.socket.on('error', () => undefined);
    this.socket.on('close', () => this.#closed.resolve());
  }

  /** Connects with a clean session; done when the broker has accepted. */
  static async open(port: number, clientId: string, keepaliveSeconds = 300): Promise<Client> {
    return new Client(port).#connect(clientId, connectFrame(clientId, keepaliveSeconds));
  }

  /** Connects to a session that outlives the connection; what waits there goes to the receiver. */
  static async resume(
    port: number,
    clientId: string,
    receiverOf?: (socket: Socket) => Receiver,
  ): Promise<Client> {
    const client = new Client(port);
    const receiver = receiverOf?.(client.socket);
    return client.#connect(clientId, connectFrame(clientId, 0, false), receiver);
  }

  async #connect(clientId: string, connect: Buffer, receiver?: Receiver): Promise<Client> {
    this.socket.write(connect);
    const code = await this.#answer(connack, receiver);
    if (code !== 0) throw new Error(`Cannot connect "${clientId}": the broker answered ${code}`);
    return this;
  }

  async subscribe(filter: string, qos: Qos): Promise<void> {
    this.socket.write(subscribeFrame(filter, qos));
    const granted = await this.#answer(suback);
    if (granted !== qos) {
      throw new Error(`Cannot subscribe to "${filter}": granted ${granted} instead of ${qos}`);
    }
  }

  /** Hands every later frame to the receiver. */
  receive(receiver: Receiver): void {
    this.#receiver = receiver;
  }

  /** Says DISCONNECT and waits for the broker to close, as MQTT has it; then closes anyway. */
  async disconnect(): Promise<void> {
    this.socket.write(disconnectFrame);
    const impatience = setTimeout(() => this.socket.destroy(), answerMs);
    await this.#closed.promise;
    clearTimeout(impatience);
  }

  get isOpen(): boolean {
    return !this.socket.destroyed;
  }

  /**
   * The last byte of the next frame of one kind: the return code of CONNACK and SUBACK alike. What
   * stands behind it in the same read is the receiver's.
   */
  #answer(wanted: number, receiver?: Receiver): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const deadline = setTimeout(
      () => reject(new Error(`Cannot go on: no answer ${wanted} after ${answerMs} ms`)),
      answerMs,
    );
    const onEnd = (): void => reject(new Error('Cannot go on: the broker closed the connection'));
    this.socket.once('close', onEnd);
    this.receive({
      frame: (bytes, header, bodyAt, end) => {
        if ((header & 0xf0) !== wanted) return receiver?.frame(bytes, header, bodyAt, end);
        resolve(bytes[end - 1] ?? -1);
        if (receiver !== undefined) this.receive(receiver);
      },
      readDone: () => receiver?.readDone?.(),
    });
    return promise.finally(() => {
      clearTimeout(deadline);
      this.socket.off('close', onEnd);
    });
  }
}

/** Opens connections, at most `concurrency` at once: a listener's backlog is not what is measured. */
export async function openAll(
  count: number,
  open: (index: number) => Promise<Client>,
  concurrency = 50,
): Promise<Client[]> {
  const clients: Client[] = [];
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < count) {
      const index = next++;
      clients[index] = await open(index);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, lane));
  return clients;
}
