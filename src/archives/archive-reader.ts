// Reads an archive from its first byte to its last, member by member. Nothing is written to disk, and the content of a member is not
// kept: the caller receives it in pieces as it is read.

import { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { InvalidArchive, quoteText } from './invalid-archive.ts'
import { ByteSource } from './byte-source.ts'
import { parseExtendedName } from './parse-extended-name.ts'
import { blockBytes, isEmpty, computePadding, readHeader, type TarEntry } from './tar-header.ts'

export interface ArchiveMember {
  /** Below the folder of the archive: `tables/rules.jsonl`. */
  readonly name: string
  readonly bytes: number
  /** Must be read before the next member is requested; an unread rest is skipped. */
  readContent(): AsyncIterable<Buffer>
}

/** Required form and limits of an archive. */
export interface ArchiveForm {
  /** The only top-level folder; undefined: the one of the first member. */
  readonly folder: string | undefined
  /** Maximum number of files and folders. */
  readonly maxMembers: number
  /** Maximum bytes of all members together, decompressed. */
  readonly maxBytes: number
  /** Maximum bytes of zeros after the last member: tar fills its last record with them. */
  readonly maxPaddingBytes: number
  /** Text of the error if the content is JSON instead of an archive. */
  readonly jsonProblem?: string
}

/** Returns the name of the only top-level folder of an archive, from the name of its file. */
export function toArchiveFolder(filename: string): string {
  return filename.replace(/\.tar\.gz$/, '')
}

/**
 * Yields the files of an archive, in order. When the iteration ends, the whole archive has been read and is well-formed. Throws
 * InvalidArchive.
 */
export async function* readArchiveMembers(
  packed: AsyncIterable<Buffer>,
  form: ArchiveForm,
): AsyncGenerator<ArchiveMember> {
  const counted = new CountedPieces(packed)
  const gunzip = createGunzip({ chunkSize: 262_144 })
  const source = Readable.from(counted, { objectMode: false })
  source.on('error', (error) => gunzip.destroy(error))
  const unpacked = new ByteSource(toInvalidArchive(source.pipe(gunzip), counted, form))
  try {
    yield* readMembers(unpacked, form)
    // The library ignores data after the compressed part. A valid archive has none.
    if (gunzip.bytesWritten < counted.bytes) throw new InvalidArchive('data follows the end of the archive')
  } finally {
    source.destroy()
    gunzip.destroy()
  }
}

class CountedPieces {
  readonly #pieces: AsyncIterable<Buffer>
  bytes: number
  /** True if the content begins like JSON. */
  isJson: boolean

  constructor(pieces: AsyncIterable<Buffer>) {
    this.#pieces = pieces
    this.bytes = 0
    this.isJson = false
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    for await (const piece of this.#pieces) {
      if (this.bytes === 0) this.isJson = /^\s*\{/.test(piece.toString('latin1', 0, 64))
      this.bytes += piece.length
      yield piece
    }
  }
}

async function* readMembers(unpacked: ByteSource, form: ArchiveForm): AsyncGenerator<ArchiveMember> {
  const names = new Set<string>()
  let { folder } = form
  let count = 0
  for (;;) {
    const block = await unpacked.readExactly(blockBytes)
    if (block === undefined) throw new InvalidArchive('it is truncated')
    const read = readHeader(block)
    if (read === undefined) break
    const entry = read.kind === 'extended' ? await readExtendedEntry(unpacked, read) : read
    if (++count > form.maxMembers) throw new InvalidArchive(`it has more than ${form.maxMembers} members`)
    const parts = parseMemberName(entry.name)
    folder ??= parts[0] ?? ''
    if (parts[0] !== folder) throw new InvalidArchive(describeOtherFolder(folder, form))
    const name = parts.slice(1).join('/')
    if (entry.kind === 'folder') continue
    if (name === '')
      throw new InvalidArchive(`${quoteText(entry.name)} is a file where the folder of the archive has to be`)
    if (names.has(name)) throw new InvalidArchive(`${quoteText(name)} occurs twice in it`)
    names.add(name)
    if (unpacked.bytesRead + entry.bytes > form.maxBytes) {
      throw new InvalidArchive(`it has more than ${form.maxBytes} bytes`)
    }
    const content = new MemberContent(unpacked, name, entry.bytes)
    yield { name, bytes: entry.bytes, readContent: () => content.readPieces() }
    await content.skip()
  }
  await expectOnlyZeros(unpacked, form.maxPaddingBytes)
}

/** Reads an extended header, and returns the following member with its values. */
async function readExtendedEntry(unpacked: ByteSource, { bytes }: TarEntry): Promise<TarEntry> {
  const content = await unpacked.readExactly(bytes + computePadding(bytes))
  const block = content && (await unpacked.readExactly(blockBytes))
  const entry = block && readHeader(block)
  if (content === undefined || entry === undefined) throw new InvalidArchive('it is truncated after an extended header')
  if (entry.kind === 'extended') throw new InvalidArchive('an extended header follows another extended header')
  return { ...entry, name: parseExtendedName(content.subarray(0, bytes)) ?? entry.name }
}

/** Returns the levels of the name of a member; the first one is the folder of the archive. */
function parseMemberName(name: string): readonly string[] {
  const plain = name.replace(/\/$/, '')
  const parts = plain.split('/')
  const isUnsafe = parts.some((part) => part === '' || part === '.' || part === '..')
  // oxlint-disable-next-line no-control-regex
  if (isUnsafe || /[\u0000-\u001f\u007f\\\ufffd]/.test(plain)) {
    throw new InvalidArchive(`${quoteText(name)} is not a safe name for a member`)
  }
  return parts
}

function describeOtherFolder(folder: string, form: ArchiveForm): string {
  const problem = `its members are not all in the folder ${quoteText(folder)}`
  if (form.folder === undefined) return `${problem}, in which the first one is`
  return `${problem}, which its file name requires: give the file its original name`
}

class MemberContent {
  readonly #unpacked: ByteSource
  readonly #name: string
  readonly #padding: number
  #missing: number

  constructor(unpacked: ByteSource, name: string, bytes: number) {
    this.#unpacked = unpacked
    this.#name = name
    this.#missing = bytes
    this.#padding = computePadding(bytes)
  }

  async *readPieces(): AsyncGenerator<Buffer> {
    while (this.#missing > 0) {
      const piece = await this.#unpacked.readSome(this.#missing)
      if (piece === undefined) throw new InvalidArchive(`it is truncated within ${quoteText(this.#name)}`)
      this.#missing -= piece.length
      yield piece
    }
  }

  async skip(): Promise<void> {
    const rest = this.readPieces()
    while ((await rest.next()).done !== true);
    if ((await this.#unpacked.readExactly(this.#padding)) === undefined) {
      throw new InvalidArchive(`it is truncated after ${quoteText(this.#name)}`)
    }
  }
}

async function expectOnlyZeros(unpacked: ByteSource, maxPaddingBytes: number): Promise<void> {
  let bytes = 0
  for (;;) {
    const piece = await unpacked.readSome(blockBytes)
    if (piece === undefined) return
    bytes += piece.length
    if (!isEmpty(piece) || bytes > maxPaddingBytes) {
      throw new InvalidArchive('data follows its last member')
    }
  }
}

const gzipProblems: Readonly<Record<string, string>> = {
  Z_BUF_ERROR: 'it is truncated',
  Z_DATA_ERROR: 'it is not a gzip file, or it is damaged',
}

/** Converts errors of zlib to `InvalidArchive`: the archive is damaged. Other errors are failures of the disk or internal errors. */
async function* toInvalidArchive(
  unpacked: AsyncIterable<Buffer>,
  packed: CountedPieces,
  { jsonProblem }: ArchiveForm,
): AsyncGenerator<Buffer> {
  try {
    yield* unpacked
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    const problem = gzipProblems[code]
    if (problem === undefined) throw error
    throw new InvalidArchive(packed.isJson && jsonProblem !== undefined ? jsonProblem : problem)
  }
}
