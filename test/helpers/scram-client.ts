// The client's side of SCRAM-SHA-256 (RFC 5802), written apart from the server's code so that one
// checks the other. It prepares no strings: tests give names and passwords as they go over the wire.

import assert from 'node:assert/strict';
import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';

export interface ScramClientOptions {
  /** What precedes the first message: channel binding and whom to act for. */
  readonly header?: string;
  readonly nonce?: string;
}

/** What a test sends in place of the truth. */
export interface FinalChange {
  readonly nonce?: string;
  readonly binding?: string;
  readonly extension?: string;
}

/** One exchange. */
export class ScramClient {
  readonly #password: string;
  readonly #header: string;
  readonly #bare: string;
  #serverFinal = '';

  constructor(name: string, password: string, options: ScramClientOptions = {}) {
    const { header = 'n,,', nonce = randomBytes(18).toString('base64') } = options;
    this.#password = password;
    this.#header = header;
    this.#bare = `n=${name},r=${nonce}`;
  }

  first(): Buffer {
    return Buffer.from(this.#header + this.#bare);
  }

  final(serverFirst: Buffer, change: FinalChange = {}): Buffer {
    const [nonce = '', salt = '', iterations = ''] = serverFirst
      .toString()
      .split(',')
      .map((attribute) => attribute.slice(2));
    const binding = change.binding ?? Buffer.from(this.#header).toString('base64');
    const withoutProof = `c=${binding},r=${change.nonce ?? nonce}${change.extension ?? ''}`;
    const signed = `${this.#bare},${serverFirst.toString()},${withoutProof}`;
    const saltBytes = Buffer.from(salt, 'base64');
    const salted = pbkdf2Sync(this.#password, saltBytes, Number(iterations), 32, 'sha256');
    const clientKey = hmac(salted, 'Client Key');
    const signature = hmac(createHash('sha256').update(clientKey).digest(), signed);
    const proof = Buffer.from(clientKey.map((byte, i) => byte ^ (signature[i] as number)));
    this.#serverFinal = `v=${hmac(hmac(salted, 'Server Key'), signed).toString('base64')}`;
    return Buffer.from(`${withoutProof},p=${proof.toString('base64')}`);
  }

  /** The server must know the password too, or something derived from it. */
  expectProof(serverFinal: Buffer | undefined): void {
    assert.notEqual(this.#serverFinal, '', 'Cannot check the server: final() was not called');
    assert.equal(serverFinal?.toString(), this.#serverFinal);
  }
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
