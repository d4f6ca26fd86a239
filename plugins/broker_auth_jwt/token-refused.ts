// Why a token is refused. The operator reads the word in the log; the bearer is told no more than whether
// another token may help.

export type RefusalWord =
  | 'too_large'
  | 'malformed'
  | 'critical_extension'
  | 'algorithm'
  | 'unknown_key'
  | 'signature'
  | 'expired'
  | 'not_yet_valid'
  | 'claim'
  | 'acl'
  | 'username'
  | 'keys_unavailable';

export class TokenRefused extends Error {
  override readonly name = 'TokenRefused';
  readonly word: RefusalWord;

  /** `message`: more about it, for the log. */
  constructor(word: RefusalWord, message: string = word, options?: ErrorOptions) {
    super(message, options);
    this.word = word;
  }

  /** Words for the client. */
  get text(): string {
    return texts[this.word] ?? 'Cannot connect: the token is not accepted';
  }
}

const texts: Partial<Record<RefusalWord, string>> = {
  expired: 'Cannot connect: the token has expired',
  not_yet_valid: 'Cannot connect: the token is not valid yet',
  too_large: 'Cannot connect: the token is too large',
  keys_unavailable: 'Cannot connect: tokens cannot be verified now',
};
