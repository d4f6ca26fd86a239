// Something the other side of a connection did that MQTT forbids. Expected, never logged as our
// fault; the core turns the reason code into CONNACK, PUBACK or DISCONNECT by protocol version.

export class ProtocolError extends Error {
  override readonly name = 'ProtocolError';
  readonly reasonCode: number;

  constructor(reasonCode: number, message: string) {
    super(message);
    this.reasonCode = reasonCode;
  }
}
