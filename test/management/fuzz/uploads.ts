// Files that are uploaded: an archive of the broker that is fuzzed as it is, a little otherwise, or nothing of the kind.

import { gzipSync } from 'node:zlib'
import type { Random } from '../../protocol/fuzz/random.ts'
import { nastyString } from './strings.ts'

/** One that the broker has made of itself. */
export interface Archive {
  readonly filename: string
  readonly bytes: Buffer
}

export interface MadeUpload {
  readonly contentType: string
  readonly body: Buffer
}

const boundaries = ['x', '----WebKitFormBoundaryA', 'a b', 'b'.repeat(70)]

/** A form with a file in it; one in six is broken off, or has another boundary than its header says. */
export function makeUpload(random: Random, archive: Archive): MadeUpload {
  const boundary = random.pick(boundaries)
  const name = random.oneIn(2) ? archive.filename : nastyString(random).replaceAll(/["\r\n\0]/g, '_')
  const field = random.oneIn(4) ? nastyString(random).replaceAll(/["\r\n\0]/g, '_') : 'filename'
  const head = `--${boundary}\r\ncontent-disposition: form-data; name="${field}"; filename="${name.slice(0, 2_000)}"\r\n\r\n`
  const whole = Buffer.concat([Buffer.from(head), contentOf(random, archive), Buffer.from(`\r\n--${boundary}--\r\n`)])
  const body = random.oneIn(12) ? whole.subarray(0, random.below(whole.length)) : whole
  const said = random.oneIn(12) ? 'another' : boundary
  return { contentType: `multipart/form-data; boundary="${said}"`, body }
}

function contentOf(random: Random, { bytes }: Archive): Buffer {
  switch (random.below(6)) {
    case 0:
    case 1:
      return bytes
    case 2: // Some of its bytes are others.
      return flipped(bytes, random)
    case 3: // Its end is missing, or there is something behind it.
      return random.oneIn(2) ? bytes.subarray(0, random.below(bytes.length)) : Buffer.concat([bytes, bytes])
    case 4: // A little that becomes much.
      return gzipSync(Buffer.alloc(1_048_576 * (1 + random.below(8))))
    default:
      return Buffer.from(nastyString(random))
  }
}

function flipped(bytes: Buffer, random: Random): Buffer {
  const copy = Buffer.from(bytes)
  for (let left = 1 + random.below(8); left > 0; left--) copy[random.below(copy.length)] = random.below(256)
  return copy
}
