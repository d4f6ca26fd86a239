// The baggage of a session that moves (core/session-baggage.ts) as JSON can say it. Messages go as the
// store would keep them.

import type { Baggage, Piece } from '#core/session-baggage';
import type { Message } from '#core/message';
import { messageBytes, readMessage, writeMessage } from '#store/message-record';

type PackedPiece = Omit<Piece, 'message'> & { readonly message: string | undefined };

export type PackedBaggage = Omit<Baggage, 'pieces'> & { readonly pieces: readonly PackedPiece[] };

export function pack({ pieces, taken }: Baggage): PackedBaggage {
  return {
    pieces: pieces.map((piece) => ({
      ...piece,
      message: piece.message && packMessage(piece.message),
    })),
    taken,
  };
}

export function unpack({ pieces, taken }: PackedBaggage): Baggage {
  return { pieces: pieces.map(unpackPiece), taken };
}

function unpackPiece(piece: PackedPiece): Piece {
  const { subscriptionIds, group, ...rest } = piece.options;
  const options = { ...rest, subscriptionIds, group };
  return {
    ...piece,
    options,
    message: piece.message === undefined ? undefined : unpackMessage(piece.message),
  };
}

export function packMessage(message: Message): string {
  const bytes = Buffer.allocUnsafe(messageBytes(message));
  writeMessage(message, bytes, 0);
  return bytes.toString('base64');
}

export function unpackMessage(text: string): Message {
  return readMessage(Buffer.from(text, 'base64'));
}
