// Builds archives for tests, valid and invalid ones.

import { gzipSync } from 'node:zlib'
import { checkArchive, type CheckedArchive, writeMeta } from '../../src/backup/index.ts'
import { createHash } from 'node:crypto'

export interface Crafted {
  readonly name: string
  readonly content?: string | Buffer
  /** Type flag of the tar header; '0' is a plain file. */
  readonly kind?: string
  /** Size in the header, if it differs from the real size. */
  readonly bytes?: number
  readonly link?: string
}

export const folder = 'godwit-export-2026-01-02-03-04-05.678'

export function tarOf(entries: readonly Crafted[]): Buffer {
  const blocks = entries.flatMap(({ name, content = '', kind = '0', link = '', bytes }) => {
    const body = Buffer.from(content)
    const block = Buffer.alloc(512)
    block.write(name, 0, 100)
    block.write('0000600\0', 100)
    block.write(`${(bytes ?? body.length).toString(8).padStart(11, '0')}\0`, 124)
    block.write('00000000000\0', 136)
    block.write(kind, 156)
    block.write(link, 157, 100)
    block.write('ustar\u000000', 257)
    block.fill(0x20, 148, 156)
    const sum = block.reduce((all, byte) => all + byte, 0)
    block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
    return [block, body, Buffer.alloc((512 - (body.length % 512)) % 512)]
  })
  return Buffer.concat([...blocks, Buffer.alloc(1_024)])
}

/** Returns a complete archive with these members, and a META.hocon that lists them. */
export function archiveOf(
  members: Readonly<Record<string, string>>,
  meta: Partial<Parameters<typeof writeMeta>[0]> = {},
): Buffer {
  const marks = Object.entries(members).map(([name, content]) => {
    const sha256 = createHash('sha256').update(content).digest('hex')
    return { name, bytes: Buffer.byteLength(content), sha256 }
  })
  const counts: Record<string, number> = {}
  for (const [name, content] of Object.entries(members)) {
    const table = /^tables\/(.+)\.jsonl$/.exec(name)?.[1]
    if (table !== undefined) counts[table] = content.split('\n').length - 1
  }
  const metaText = writeMeta({
    product: 'godwit',
    format: 1,
    version: '0.1.0',
    edition: 'ce',
    profile: 'hardened',
    createdAtMs: 1_767_000_000_000,
    namespace: undefined,
    counts,
    members: marks,
    ...meta,
  })
  const entries = Object.entries(members).map(([name, content]) => ({ name: `${folder}/${name}`, content }))
  return gzipSync(tarOf([{ name: `${folder}/META.hocon`, content: metaText }, ...entries]))
}

/** Returns the result of the check. */
export function check(packed: Buffer, name = folder): Promise<CheckedArchive> {
  return checkArchive(inPieces(packed), { folder: name, maxLineBytes: 65_536 })
}

async function* inPieces(packed: Buffer): AsyncGenerator<Buffer> {
  for (let start = 0; start < packed.length; start += 1_000) yield packed.subarray(start, start + 1_000)
}
