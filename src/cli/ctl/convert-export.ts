// An archive made of the export of an older broker, without any broker.

import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { readFile, rename, rm, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { convertEmqx4Export, type ConvertedMembers, type LoginType } from '../../../lib/imports/index.ts'
import { InvalidArchive, writeArchive } from '../../archives/index.ts'
import { metaMember, ownFormat, ownProduct, writeMeta } from '../../backup/index.ts'
import { isWellKnownPassword } from '../../node/index.ts'
import type { Outcome } from './ctl-command.ts'
import { describeFileError } from '../../telemetry/index.ts'

/** Maximum bytes of the file, because it is read into memory. */
const maxBytes = 268_435_456

export async function convertExport(
  file: string,
  { folder, loginType }: { readonly folder: string; readonly loginType: LoginType | undefined },
): Promise<Outcome> {
  try {
    if ((await stat(file)).size > maxBytes) return { problem: `${file} has more than ${maxBytes} bytes` }
    const converted = convertEmqx4Export(await readFile(file, 'utf8'), {
      isWellKnownSecret: isWellKnownPassword,
      loginType,
    })
    const path = await writeConverted(converted.members, resolve(folder))
    const counts = [...converted.members.values()].map(({ table, count }) => `${table}: ${count}`)
    const { skipped, stricter } = converted
    const lines = [
      ...counts,
      ...skipped.map((line) => `not imported: ${line}`),
      ...stricter.map((line) => `stricter than before: ${line}`),
      `The archive is ${path}`,
    ]
    return { text: lines.join('\n'), document: { path, left: skipped, stricter } }
  } catch (error) {
    const isExpected = error instanceof InvalidArchive || (error as NodeJS.ErrnoException).code !== undefined
    if (!isExpected) throw error
    return { problem: `${file}: ${describeFileError(error)}` }
  }
}

/** Gives the path of the archive. */
export async function writeConverted(members: ConvertedMembers, folder: string): Promise<string> {
  const createdAtMs = Date.now()
  const base = `converted-export-${new Date(createdAtMs).toISOString().replaceAll(/[T:]/g, '-').replace('Z', '')}`
  const named = [...members].map(([name, { content }]) => {
    const sha256 = createHash('sha256').update(content).digest('hex')
    return { name, bytes: content.length, sha256, readContent: () => [content] }
  })
  const meta = writeMeta({
    product: ownProduct,
    format: ownFormat,
    version: undefined,
    edition: 'ce',
    // The access rules of the older broker are unknown; it had no security profile.
    profile: 'legacy',
    createdAtMs,
    namespace: undefined,
    counts: Object.fromEntries([...members.values()].map(({ table, count }) => [table, count])),
    members: named.map(({ name, bytes, sha256 }) => ({ name, bytes, sha256 })),
  })
  const path = join(folder, `${base}.tar.gz`)
  const unfinished = `${path}.unfinished`
  const target = createWriteStream(unfinished, { flags: 'wx', mode: 0o600, flush: true })
  try {
    const all = [{ name: metaMember, bytes: meta.length, readContent: () => [meta] }, ...named]
    await writeArchive(target, { folder: base, createdAtMs, members: all })
    await rename(unfinished, path)
  } catch (error) {
    await rm(unfinished, { force: true })
    throw error
  }
  return path
}
