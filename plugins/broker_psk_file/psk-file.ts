// The file of pre-shared keys as it lies on disk. Law: its size is known before it is read.

import { open } from 'node:fs/promises';

/** About half a million identities. */
const fileBytesMax = 64 * 1024 ** 2;

export interface PskFile {
  readonly bytes: Buffer;
  readonly mode: number;
}

export async function readPskFile(file: string): Promise<PskFile> {
  try {
    await using handle = await open(file, 'r');
    const { size, mode } = await handle.stat();
    if (size > fileBytesMax) {
      throw new RangeError(`it has ${size} bytes, expected at most ${fileBytesMax}`);
    }
    return { bytes: await handle.readFile(), mode };
  } catch (cause) {
    const words = `Cannot read psk.file.path "${file}"`;
    const isAbsent = (cause as NodeJS.ErrnoException).code === 'ENOENT';
    throw isAbsent ? new Error(`${words}: it does not exist`) : new Error(words, { cause });
  }
}
