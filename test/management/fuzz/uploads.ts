// Uploaded files: an archive of the fuzzed broker, unchanged or damaged, or other content.

import { gzipSync } from 'node:zlib'
import type { Random } from '../../protocol/fuzz/random.ts'
import { nastyString } from './strings.ts'

/** An archive that the broker exported. */
export interface Archive {
  readonly filename: string
  readonly bytes: Buffer
}

export interface MadeUpload {
  readonly contentType: string
  readonly body: Buffer
}

const boundaries = ['x', '----WebKitFormBoundaryA', 'a b', 'b'.repeat(70)]

/** A form with a file; one in six is truncated or has a boundary that differs from its header. */
export function makeUpload(random: Random, archive: Archive): MadeUpload {
  const boundary = random.pick(boundaries)
  const name = random.oneIn(2) ? archive.filename : nastyString(random).replaceAll(/["\r\n\0]/g, '_')
  const field = random.oneIn(4) ? nastyString(random).replaceAll(/["\r\n\0]/g, '_') : 'filename'
  const head = `--${boundary}\r\ncontent-disposition: form-data; name="${field}"; filename="${name.slice(0, 2_000)}"\r\n\r\n`
  const whole = Buffer.concat([Buffer.from(head), contentOf(random, archive), Buffer.from(`\r\n--${boundary}--\r\n`)])
  const body = random.oneIn(12) ? whole.subarray(0, random.below(whole.length)) : whole
  const declared = random.oneIn(12) ? 'another' : boundary
  return { contentType: `multipart/form-data; boundary="${declared}"`, body }
}

function contentOf(random: Random, { bytes }: Archive): Buffer {
  switch (random.below(6)) {
    case 0:
    case 1:
      return bytes
    case 2: // Some bytes are changed.
      return flipped(bytes, random)
    case 3: // Truncated, or with trailing data.
      return random.oneIn(2) ? bytes.subarray(0, random.below(bytes.length)) : Buffer.concat([bytes, bytes])
    case 4: // A decompression bomb.
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
