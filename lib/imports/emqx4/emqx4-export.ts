// Converts the single JSON file that EMQX 4 exports. Entries that Godwit supports become tables of an archive. The others are left out,
// and each is named in the report. An entry that restricts clients (a denial, a ban) is never left out: it becomes stricter, or the
// whole export is refused.
//
//   auth_mnesia, auth_username, auth_clientid   credentials   base64(4 bytes of salt, digest in hexadecimal)
//   acl_mnesia                                  rules
//   blacklist                                   bans
//   apps                                        api-keys      the secret in plain text

import { InvalidArchive, quoteText } from '../../../src/archives/index.ts'
import { type ConvertedMembers, toMembers } from '../converted-tables.ts'
import type { TableName, TableRecord } from '../../../src/backup/index.ts'
import { convertApplications } from './emqx4-applications.ts'
import { convertBans } from './emqx4-bans.ts'
import { convertCredentials } from './emqx4-credentials.ts'
import type { Emqx4Entry, LoginType } from './emqx4-entries.ts'
import { Emqx4Report } from './emqx4-report.ts'
import { convertRules } from './emqx4-rules.ts'

export interface ConvertedExport {
  /** Members of an archive, by name. */
  readonly members: ConvertedMembers
  /** Sentences that name each entry that is not converted. */
  readonly skipped: readonly string[]
  /** Sentences that name each entry that allows less than before. */
  readonly stricter: readonly string[]
}

export interface Emqx4Options {
  readonly isWellKnownSecret: (name: string, secret: string) => boolean
  /** What `login` means in entries without a type, which versions before 4.3 wrote. Undefined: unknown, unless the file says it. */
  readonly loginType?: LoginType | undefined
}

const readSections: ReadonlySet<string> = new Set([
  'auth_mnesia',
  'auth_username',
  'auth_clientid',
  'acl_mnesia',
  'blacklist',
  'apps',
])

/** Facts about the file. */
const facts: ReadonlySet<string> = new Set(['version', 'date', 'auth.mnesia.as'])

const reasons: Readonly<Record<string, string>> = {
  users: 'accounts of the dashboard; their password hashes are too weak for Godwit: create the accounts again',
  modules: 'modules, which can have authenticators and access rules',
  configs: 'configuration, which can have authenticators and access rules',
}

/** Throws InvalidArchive if the text is not an export of EMQX 4, or cannot be converted without allowing more than before. */
export function convertEmqx4Export(text: string, options: Emqx4Options): ConvertedExport {
  const whole = parse(text)
  const report = new Emqx4Report()
  const loginType = selectLoginType(whole, options.loginType)
  const tables: Partial<Record<TableName, TableRecord[]>> = {
    credentials: convertCredentials(
      {
        auth_mnesia: readSection(whole, 'auth_mnesia'),
        auth_username: readSection(whole, 'auth_username'),
        auth_clientid: readSection(whole, 'auth_clientid'),
      },
      { loginType, report },
    ),
    rules: convertRules(readSection(whole, 'acl_mnesia'), { loginType, report }),
    bans: convertBans(readSection(whole, 'blacklist')),
    'api-keys': convertApplications(readSection(whole, 'apps'), { ...options, report }),
  }
  for (const [name, part] of Object.entries(whole)) reportUnknown(name, part, report)
  const skipped: string[] = report.formatSkipped()
  skipped.push(
    'etc/acl.conf, acl_nomatch, allow_anonymous and all plugins: an export of EMQX 4 does not contain them; set auth.no_match and auth.allow_anonymous, and check the rules, before clients connect',
  )
  return { members: toMembers(tables, skipped), skipped, stricter: report.formatStricter() }
}

function reportUnknown(name: string, part: unknown, report: Emqx4Report): void {
  if (readSections.has(name) || facts.has(name)) return
  const reason = reasons[name] ?? 'Godwit does not import them'
  if (Array.isArray(part)) for (const entry of part) report.skip(name, findName(entry), reason)
  else report.skip(name, '', reason)
}

function findName(entry: unknown): string {
  if (typeof entry !== 'object' || entry === null) return ''
  const { id, name, username, type } = entry as Emqx4Entry
  const found = [id, name, username, type].find((value) => typeof value === 'string')
  return typeof found === 'string' ? found : ''
}

function parse(text: string): Emqx4Entry {
  let whole: unknown
  try {
    whole = JSON.parse(text)
  } catch {
    throw new InvalidArchive('it is not valid JSON')
  }
  const isObject = typeof whole === 'object' && whole !== null && !Array.isArray(whole)
  const { version } = (isObject ? whole : {}) as Emqx4Entry
  if (typeof version !== 'string' || !/^[234]\./.test(version)) {
    const problem =
      version === undefined
        ? 'it has no "version"'
        : `its "version" is ${quoteText(typeof version === 'string' ? version : typeof version)}; only versions 2 to 4 are supported`
    throw new InvalidArchive(`it is not an export of EMQX 4: ${problem}`)
  }
  return whole as Emqx4Entry
}

/** The command `emqx_ctl data import --env` adds the member `auth.mnesia.as` to a file in the same way. */
function selectLoginType(whole: Emqx4Entry, requested: LoginType | undefined): LoginType | undefined {
  if (requested !== undefined) return requested
  const written = whole['auth.mnesia.as']
  return written === 'username' || written === 'clientid' ? written : undefined
}

/** Returns the entries of a section. Throws InvalidArchive if it is something else than a list of objects. */
function readSection(whole: Emqx4Entry, name: string): readonly Emqx4Entry[] {
  const part = whole[name]
  if (part === undefined) return []
  if (!Array.isArray(part)) throw new InvalidArchive(`${name} is not a list`)
  for (const [index, entry] of part.entries()) {
    if (typeof entry !== 'object' || entry === null || Array.isArray(entry))
      throw new InvalidArchive(`${name}, entry ${index + 1} is not an object`)
  }
  return part as Emqx4Entry[]
}
