// Checks a complete archive before it is used: names, sizes, digests, counts and each record. Small members (configuration, files) are
// kept in memory; tables are only read.

import { createHash, type Hash } from 'node:crypto'
import { type ArchiveMember, readArchiveMembers, InvalidArchive, quoteText } from '../archives/index.ts'
import { readLines } from './read-lines.ts'
import { toBackupForm } from './backup-form.ts'
import { archiveLimits } from './backup-limits.ts'
import { type ArchiveMeta, type MemberDigest, metaMember, noMeta, ownProduct, readMeta } from './meta.ts'
import { readRow } from './table-rows.ts'
import { type TableName, findMemberTable, type TableRecord } from './tables.ts'

export const configurationMember = 'cluster.hocon'
const filesFolder = 'files/'

export interface CheckedArchive {
  /** `noMeta` if the archive has no META.hocon. */
  readonly meta: ArchiveMeta
  /** Configuration as HOCON; undefined: the archive has none. */
  readonly configuration: string | undefined
  /** The namespace of the configuration, from the name of the member; undefined: of the whole broker. */
  readonly configurationNamespace: string | undefined
  /** Contents of files of the data directory, by their names in the configuration. */
  readonly files: ReadonlyMap<string, Buffer>
  /** Number of records by table. */
  readonly counts: ReadonlyMap<TableName, number>
  readonly members: readonly MemberDigest[]
  /** Unknown members of an archive of another product. */
  readonly unknown: readonly string[]
}

export interface CheckOptions {
  /** The first level that all names in the archive must have. It follows from the name of the file. */
  readonly folder: string
  /** Maximum bytes of one line of a table. */
  readonly maxLineBytes: number
  /** Called with each record of each table, in order. */
  readonly onRecord?: (table: TableName, record: TableRecord) => void
  /** Called between parts of a table, so that the caller can pause the check. `total`: the number of records in META.hocon. */
  readonly onPiece?: (table: TableName, recordsSoFar: number, total: number | undefined) => Promise<void> | void
}

/** Throws InvalidArchive with a sentence about the first problem. */
export async function checkArchive(packed: AsyncIterable<Buffer>, options: CheckOptions): Promise<CheckedArchive> {
  const checker = new ArchiveChecker(options)
  for await (const member of readArchiveMembers(packed, toBackupForm(options.folder))) await checker.checkMember(member)
  return checker.finish()
}

class ArchiveChecker {
  readonly #options: CheckOptions
  readonly #members: MemberDigest[] = []
  readonly #counts = new Map<TableName, number>()
  readonly #files = new Map<string, Buffer>()
  readonly #unknown: string[] = []
  #filesBytes = 0
  #meta: ArchiveMeta | undefined
  #configuration: string | undefined
  #configurationNamespace: string | undefined

  constructor(options: CheckOptions) {
    this.#options = options
  }

  async checkMember(member: ArchiveMember): Promise<void> {
    const { name, bytes } = member
    if (name === metaMember) {
      this.#meta = readMeta((await readMemberContent(member, archiveLimits.maxMetaBytes)).toString('utf8'))
      return
    }
    const hash = createHash('sha256')
    await this.#checkContent(member, hash)
    this.#members.push({ name, bytes, sha256: hash.digest('hex') })
  }

  async #checkContent(member: ArchiveMember, hash: Hash): Promise<void> {
    const table = findMemberTable(member.name)
    if (table !== undefined) return this.#checkTable(table, member, hash)
    const place = parseConfigurationName(member.name)
    if (place !== undefined) {
      if (this.#configuration !== undefined) throw new InvalidArchive('it has two configurations')
      this.#configurationNamespace = place.namespace
      const content = await readMemberContent(member, archiveLimits.maxConfigurationBytes)
      this.#configuration = content.toString('utf8')
      hash.update(content)
      return
    }
    if (member.name.startsWith(filesFolder)) return this.#checkFile(member, hash)
    this.#unknown.push(member.name)
    for await (const piece of member.readContent()) hash.update(piece)
  }

  async #checkFile(member: ArchiveMember, hash: Hash): Promise<void> {
    const name = member.name.slice(filesFolder.length)
    if (name.includes('/'))
      throw new InvalidArchive(`${quoteText(member.name)} is in a subfolder of ${filesFolder}, which must not have any`)
    this.#filesBytes += member.bytes
    if (this.#files.size >= archiveLimits.maxFiles || this.#filesBytes > archiveLimits.maxTotalFileBytes) {
      const { maxFiles, maxTotalFileBytes } = archiveLimits
      throw new InvalidArchive(
        `it has more than ${maxFiles} files such as certificates, or more than ${maxTotalFileBytes} bytes of them`,
      )
    }
    const content = await readMemberContent(member, archiveLimits.maxFileBytes)
    hash.update(content)
    this.#files.set(name, content)
  }

  async #checkTable(table: TableName, member: ArchiveMember, hash: Hash): Promise<void> {
    const { maxLineBytes, onRecord, onPiece } = this.#options
    let count = 0
    for await (const lines of readLines(hashPieces(member.readContent(), hash), {
      name: member.name,
      maxBytes: maxLineBytes,
    })) {
      for (const line of lines) {
        count++
        const record = parseRecordLine(table, line, { member: member.name, number: count })
        onRecord?.(table, record)
      }
      await onPiece?.(table, count, this.#meta?.counts[table])
    }
    this.#counts.set(table, count)
  }

  finish(): CheckedArchive {
    const meta = this.#meta ?? noMeta
    if (meta.product === ownProduct) this.#compareMembers(meta)
    else if (this.#meta === undefined && this.#members.length === 0) throw new InvalidArchive('it is empty')
    const configurationNamespace = this.#configurationNamespace
    // META.hocon of another product does not contain the namespace.
    const hasNamespace = meta === noMeta || meta.product === ownProduct || configurationNamespace === undefined
    return {
      meta: hasNamespace ? meta : { ...meta, namespace: configurationNamespace },
      configuration: this.#configuration,
      configurationNamespace,
      files: this.#files,
      counts: this.#counts,
      members: this.#members,
      unknown: this.#unknown,
    }
  }

  /** Checks that the archive contains exactly the members in META.hocon. */
  #compareMembers(meta: ArchiveMeta): void {
    const missingMembers = new Map(meta.members.map((member) => [member.name, member]))
    for (const { name, bytes, sha256 } of this.#members) {
      const mark = missingMembers.get(name)
      if (mark === undefined) throw new InvalidArchive(`${quoteText(name)} is not listed in ${metaMember}`)
      if (mark.bytes !== bytes || mark.sha256 !== sha256) {
        throw new InvalidArchive(
          `${quoteText(name)} was changed after the export: its size or SHA-256 differs from ${metaMember}`,
        )
      }
      missingMembers.delete(name)
    }
    const [missing] = missingMembers.keys()
    if (missing !== undefined) throw new InvalidArchive(`${quoteText(missing)} is missing`)
    for (const [table, count] of this.#counts) {
      if (meta.counts[table] !== count) {
        throw new InvalidArchive(
          `${table} has ${count} records, but ${metaMember} states ${meta.counts[table] ?? 'none'}`,
        )
      }
    }
    const [unknown] = this.#unknown
    if (unknown !== undefined)
      throw new InvalidArchive(`${quoteText(unknown)} is not a member of an archive: export the archive again`)
  }
}

/** Returns the record in a line. Throws InvalidArchive with the number of the line. */
export function parseRecordLine(
  table: TableName,
  line: string,
  location: { readonly member: string; readonly number: number },
): TableRecord {
  try {
    return readRow(table, line)
  } catch (error) {
    if (!(error instanceof InvalidArchive)) throw error
    throw new InvalidArchive(`${location.member}, line ${location.number}: ${error.message}`)
  }
}

/** Returns the namespace of a member with a configuration; undefined: the member is not a configuration. */
function parseConfigurationName(name: string): { readonly namespace: string | undefined } | undefined {
  if (name === configurationMember) return { namespace: undefined }
  const [, namespace] = /^ns\/([A-Za-z0-9][A-Za-z0-9._-]{0,127})\/cluster\.hocon$/.exec(name) ?? []
  return namespace === undefined ? undefined : { namespace }
}

async function* hashPieces(pieces: AsyncIterable<Buffer>, hash: Hash): AsyncGenerator<Buffer> {
  for await (const piece of pieces) {
    hash.update(piece)
    yield piece
  }
}

async function readMemberContent(member: ArchiveMember, maxBytes: number): Promise<Buffer> {
  if (member.bytes > maxBytes) {
    throw new InvalidArchive(`${quoteText(member.name)} has ${member.bytes} bytes; maximum ${maxBytes}`)
  }
  const pieces: Buffer[] = []
  for await (const piece of member.readContent()) pieces.push(piece)
  return Buffer.concat(pieces)
}
