// Reading and writing an open file from its beginning. A stream of Node's own holds on to the file for as long as it
// lives, and closing would wait for it.

import type { FileHandle } from 'node:fs/promises'
import { Writable } from 'node:stream'

const pieceBytes = 262_144

/** The bytes from `start` on, up to `end`, which is left out, or to where the file ends. */
export async function* piecesOf(handle: FileHandle, start = 0, end = Infinity): AsyncGenerator<Buffer> {
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

/** All of `piece`, at `position`. */
export async function writeAt(handle: FileHandle, piece: Buffer, position: number): Promise<void> {
  for (let written = 0; written < piece.length;) {
    const { bytesWritten } = await handle.write(piece, written, piece.length - written, position + written)
    written += bytesWritten
  }
}

/** Writes from the beginning, `mostBytes` and no more. Ends with an error beyond that. */
export function writableOf(handle: FileHandle, mostBytes = Infinity): Writable {
  let end = 0
  return new Writable({
    highWaterMark: pieceBytes,
    write(piece: Buffer, _encoding, done) {
      const position = end
      end += piece.length
      if (end > mostBytes) return done(new TooLarge(mostBytes))
      writeAt(handle, piece, position).then(() => done(), done)
    },
  })
}

/** More came than may be kept. */
export class TooLarge extends Error {
  constructor(mostBytes: number) {
    super(`it has more than ${mostBytes} bytes`)
  }
}
