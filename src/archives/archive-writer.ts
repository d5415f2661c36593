// Writes an archive. The size of a member precedes its content, so it must be known before.

import type { Writable } from 'node:stream'
import { createGzip, constants } from 'node:zlib'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { InvalidArchive } from './invalid-archive.ts'
import { blockBytes, computePadding, writeHeader } from './tar-header.ts'

export interface MemberToWrite {
  /** Below the folder of the archive. */
  readonly name: string
  readonly bytes: number
  readonly readContent: () => AsyncIterable<Buffer> | Iterable<Buffer>
}

/** Resolves when the archive is written and `target` has ended. */
export async function writeArchive(
  target: Writable,
  archive: {
    readonly folder: string
    readonly createdAtMs: number
    readonly members: readonly MemberToWrite[]
  },
): Promise<void> {
  // The lines of a table are similar: the lowest level compresses almost as well as higher ones, in a third of the time.
  const gzip = createGzip({ level: constants.Z_BEST_SPEED, chunkSize: 262_144 })
  await pipeline(Readable.from(writeBlocks(archive), { objectMode: false }), gzip, target)
}

async function* writeBlocks({
  folder,
  createdAtMs,
  members,
}: Parameters<typeof writeArchive>[1]): AsyncGenerator<Buffer> {
  for (const { name, bytes, readContent } of members) {
    yield writeHeader(`${folder}/${name}`, bytes, createdAtMs)
    let written = 0
    for await (const piece of readContent()) {
      written += piece.length
      yield piece
    }
    if (written !== bytes) throw new InvalidArchive(`${name} has ${written} bytes instead of ${bytes}`)
    const padding = computePadding(bytes)
    if (padding > 0) yield Buffer.alloc(padding)
  }
  yield Buffer.alloc(2 * blockBytes)
}
