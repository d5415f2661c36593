// META.hocon: the description of an archive.

import { parseHocon, toPlain } from '../config/index.ts'
import { InvalidArchive, quoteText } from '../archives/index.ts'

export type Profile = 'hardened' | 'legacy'

export interface MemberDigest {
  readonly name: string
  readonly bytes: number
  /** In hexadecimal. */
  readonly sha256: string
}

export interface ArchiveMeta {
  /** undefined: META.hocon does not contain it. */
  readonly product: string | undefined
  readonly format: number | undefined
  readonly version: string | undefined
  readonly edition: string | undefined
  readonly profile: Profile | undefined
  readonly createdAtMs: number
  /** undefined: of the whole broker. */
  readonly namespace: string | undefined
  /** Records by table. */
  readonly counts: Readonly<Record<string, number>>
  /** Digests of all members except this one. */
  readonly members: readonly MemberDigest[]
}

export const metaMember = 'META.hocon'
export const ownProduct = 'godwit'
/** Version of the archive format. It grows with each change that an older broker would read incorrectly. */
export const ownFormat = 1

/** Writes HOCON that is also valid JSON. */
export function writeMeta(meta: ArchiveMeta): Buffer {
  const { profile, createdAtMs, members, ...rest } = meta
  const written = { ...rest, security_profile: profile, created_at_ms: createdAtMs, members }
  return Buffer.from(`${JSON.stringify(written, null, 2)}\n`)
}

/** Throws InvalidArchive. */
export function readMeta(text: string): ArchiveMeta {
  const parsed = parseHocon(text, { file: metaMember })
  if ('errors' in parsed) throw new InvalidArchive(`${metaMember} cannot be read: ${parsed.errors[0]?.message ?? ''}`)
  const plain = toPlain(parsed.value) as Readonly<Record<string, unknown>>
  const profile = readText(plain, 'security_profile')
  if (profile !== undefined && profile !== 'hardened' && profile !== 'legacy') {
    throw new InvalidArchive(
      `${metaMember}: security_profile is ${quoteText(profile)}: only hardened and legacy are valid`,
    )
  }
  return {
    product: readText(plain, 'product'),
    format: readNumber(plain, 'format'),
    version: readText(plain, 'version'),
    edition: readText(plain, 'edition'),
    profile,
    createdAtMs: readNumber(plain, 'created_at_ms') ?? 0,
    namespace: readText(plain, 'namespace'),
    counts: readCounts(plain['counts']),
    members: readMemberDigests(plain['members']),
  }
}

/** The values that apply to an archive without this member. */
export const noMeta: ArchiveMeta = {
  product: undefined,
  format: undefined,
  version: undefined,
  edition: undefined,
  profile: undefined,
  createdAtMs: 0,
  namespace: undefined,
  counts: {},
  members: [],
}

/**
 * Returns why a broker of `version` cannot import an archive with this META.hocon; undefined: it can. Archives of Godwit are
 * checked by their format, archives of other products by their version.
 */
export function findMetaProblem(meta: ArchiveMeta, version: string): string | undefined {
  if (meta.product === ownProduct) {
    if (meta.format === undefined) return `${metaMember} has no format number: the archive is damaged`
    if (meta.format <= ownFormat) return undefined
    return `the archive has format ${meta.format}, and this version of Godwit reads formats up to ${ownFormat}: use a newer version`
  }
  if (meta === noMeta) return undefined
  return findOtherProductProblem(meta, version)
}

function findOtherProductProblem(
  { edition, version: archiveVersion }: ArchiveMeta,
  version: string,
): string | undefined {
  if (edition !== 'ce' && edition !== 'ee') return `${metaMember} has no valid edition`
  if (edition === 'ee') return 'the archive is from an enterprise edition, which cannot be imported'
  const found = /^(\d+)\.(\d+)/.exec(archiveVersion ?? '')
  if (found === null) return `${metaMember} has no valid version`
  const [major, minor] = [Number(found[1]), Number(found[2])]
  if (major <= 4) return `version ${quoteText(archiveVersion ?? '')} is too old: archives exist from version 5 on`
  const [ownMajor = 0, ownMinor = 0] = version.split('.').map(Number)
  if (major < ownMajor || (major === ownMajor && minor <= ownMinor)) return undefined
  return `version ${quoteText(archiveVersion ?? '')} of another product is newer than ${version}, so nothing was imported: check its cluster.hocon with "godwit config check"`
}

function readText(plain: Readonly<Record<string, unknown>>, key: string): string | undefined {
  const value = plain[key]
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'string') throw new InvalidArchive(`${metaMember}: ${key} is not a text`)
  return value
}

function readNumber(plain: Readonly<Record<string, unknown>>, key: string): number | undefined {
  const value = plain[key]
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'number' || !(value >= 0))
    throw new InvalidArchive(`${metaMember}: ${key} is not a number of 0 or more`)
  return value
}

function readCounts(value: unknown): ArchiveMeta['counts'] {
  if (value === undefined) return {}
  const isGood = isObject(value) && Object.values(value).every((count) => Number.isSafeInteger(count))
  if (!isGood) throw new InvalidArchive(`${metaMember}: counts are not integers`)
  return value as ArchiveMeta['counts']
}

function readMemberDigests(value: unknown): ArchiveMeta['members'] {
  if (value === undefined) return []
  if (!Array.isArray(value)) throw new InvalidArchive(`${metaMember}: members is not a list`)
  return value.map((member: unknown): MemberDigest => {
    const { name, bytes, sha256 } = isObject(member) ? member : {}
    const isGood = typeof name === 'string' && Number.isSafeInteger(bytes) && typeof sha256 === 'string'
    if (!isGood) throw new InvalidArchive(`${metaMember}: a member has no name, no size or no SHA-256`)
    return { name, bytes: bytes as number, sha256 }
  })
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
