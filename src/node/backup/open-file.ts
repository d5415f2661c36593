// Reads and writes an open file from its start. A stream of Node would keep the file open, and closing would wait for
// it.

import type { FileHandle } from 'node:fs/promises'
import { Writable } from 'node:stream'

const pieceBytes = 262_144

/** Returns the bytes from `start` to `end` (exclusive), or to the end of the file. */
export async function* readPieces(handle: FileHandle, start = 0, end = Infinity): AsyncGenerator<Buffer> {
  for (let at = start; at < end;) {
    const { bytesRead, buffer } = await handle.read(
      Buffer.allocUnsafe(Math.min(pieceBytes, end - at)),
      0,
      undefined,
      at,
    )
    if (bytesRead === 0) return
    at += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
}

/** Writes all of `piece` at `position`. */
export async function writeAt(handle: FileHandle, piece: Buffer, position: number): Promise<void> {
  for (let written = 0; written < piece.length;) {
    const { bytesWritten } = await handle.write(piece, written, piece.length - written, position + written)
    written += bytesWritten
  }
}

/** Writes from the start, at most `maxBytes`. Fails beyond that. */
export function createWritable(handle: FileHandle, maxBytes = Infinity): Writable {
  let end = 0
  return new Writable({
    highWaterMark: pieceBytes,
    write(piece: Buffer, _encoding, done) {
      const position = end
      end += piece.length
      if (end > maxBytes) return done(new TooLarge(maxBytes))
      writeAt(handle, piece, position).then(() => done(), done)
    },
  })
}

/** The content exceeds the maximum. */
export class TooLarge extends Error {
  constructor(maxBytes: number) {
    super(`it has more than ${maxBytes} bytes`)
  }
}
