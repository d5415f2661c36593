// Converts the single JSON file that EMQX 4 exports. Entries that Godwit supports become tables of an archive; others are listed in
// `skipped`.
//
//   auth_mnesia, auth_username, auth_clientid   credentials   base64(4 bytes of salt, digest in hexadecimal)
//   acl_mnesia                                  rules
//   blacklist                                   bans
//   apps                                        api-keys      the secret in plain text

import { createHash, randomBytes } from 'node:crypto'
import type { CredentialRecord, PasswordHash, RuleRecord } from '../records/index.ts'
import { InvalidArchive, quoteText } from './invalid-archive.ts'
import { type ConvertedMembers, membersOf } from './converted-tables.ts'
import type { TableName, TableRecord } from './tables.ts'

export interface ConvertedExport {
  /** Members of an archive, by name. */
  readonly members: ConvertedMembers
  /** One sentence for each kind of entry that is not converted. */
  readonly skipped: readonly string[]
}

type Entry = Readonly<Record<string, unknown>>

/** Throws InvalidArchive if the text is not an export of EMQX 4. */
export function convertEmqx4Export(text: string): ConvertedExport {
  const whole = parse(text)
  const skipped: string[] = []
  const tables: Partial<Record<TableName, TableRecord[]>> = {
    credentials: [
      ...readEntries(whole, skipped, 'auth_mnesia', credentialOf),
      ...readEntries(whole, skipped, 'auth_username', (entry) =>
        credentialOf({ ...entry, type: 'username', login: entry['username'] }),
      ),
      ...readEntries(whole, skipped, 'auth_clientid', (entry) =>
        credentialOf({ ...entry, type: 'clientid', login: entry['clientid'] }),
      ),
    ],
    rules: readEntries(whole, skipped, 'acl_mnesia', ruleOf),
    bans: readEntries(whole, skipped, 'blacklist', banOf),
    'api-keys': readEntries(whole, skipped, 'apps', appOf),
  }
  for (const [name, part] of Object.entries(whole)) {
    if (known.has(name) || !Array.isArray(part) || part.length === 0) continue
    skipped.push(`${name}: ${part.length} entries are not imported${reasons[name] ?? ': Godwit does not support them'}`)
  }
  return { members: membersOf(tables, skipped), skipped }
}

const known: ReadonlySet<string> = new Set([
  'auth_mnesia',
  'auth_username',
  'auth_clientid',
  'acl_mnesia',
  'blacklist',
  'apps',
])

const reasons: Readonly<Record<string, string>> = {
  users: ': their password hashes are too weak for Godwit; create the accounts again',
}

function parse(text: string): Entry {
  let whole: unknown
  try {
    whole = JSON.parse(text)
  } catch {
    throw new InvalidArchive('it is not valid JSON')
  }
  const isObject = typeof whole === 'object' && whole !== null && !Array.isArray(whole)
  const { version } = (isObject ? whole : {}) as Entry
  if (typeof version !== 'string' || !/^[234]\./.test(version)) {
    const problem =
      version === undefined
        ? 'it has no "version"'
        : `its "version" is ${quoteText(typeof version === 'string' ? version : typeof version)}; only versions 2 to 4 are supported`
    throw new InvalidArchive(`it is not an export of EMQX 4: ${problem}`)
  }
  return whole as Entry
}

/** Returns the entries that can be read, and adds the number of the others to `skipped`. */
function readEntries(
  whole: Entry,
  skipped: string[],
  name: string,
  read: (entry: Entry) => TableRecord | undefined,
): TableRecord[] {
  const part = whole[name]
  if (!Array.isArray(part)) return []
  const found = part.flatMap((entry: unknown) =>
    typeof entry === 'object' && entry !== null ? (read(entry as Entry) ?? []) : [],
  )
  if (found.length < part.length) skipped.push(`${name}: ${part.length - found.length} entries cannot be read`)
  return found
}

const digests: Readonly<Record<number, PasswordHash>> = { 32: 'md5', 40: 'sha', 64: 'sha256', 128: 'sha512' }
const saltBytes = 4

function credentialOf(entry: Entry): CredentialRecord | undefined {
  const { type, login, password } = entry
  if ((type !== 'username' && type !== 'clientid') || typeof login !== 'string' || typeof password !== 'string') {
    return undefined
  }
  const bytes = Buffer.from(password, 'base64')
  const digest = bytes.toString('latin1', saltBytes)
  const algorithm = /^[0-9a-f]+$/.test(digest) ? digests[digest.length] : undefined
  if (algorithm === undefined) return undefined
  const salt = bytes.subarray(0, saltBytes)
  const hash = Buffer.from(digest, 'hex')
  const createdAtMs = timeOf(entry['created_at'])
  return {
    kind: 'credential',
    by: type,
    id: login,
    algorithm,
    saltPosition: 'prefix',
    salt,
    hash,
    isSuperuser: false,
    createdAtMs,
  }
}

const actions: Readonly<Record<string, RuleRecord['action']>> = { pub: 'publish', sub: 'subscribe', pubsub: 'pubsub' }

function ruleOf(entry: Entry): RuleRecord | undefined {
  const { type, login, topic, action, access, allow } = entry
  const appliesToAll = type === 'all' || login === 'all' || login === '$all' || login === undefined
  const mappedAction = typeof action === 'string' ? actions[action] : undefined
  if (mappedAction === undefined || typeof topic !== 'string') return undefined
  const isAllowed = typeof allow === 'boolean' ? allow : access === 'allow'
  if (typeof allow !== 'boolean' && access !== 'allow' && access !== 'deny') return undefined
  return {
    kind: 'rule',
    about: appliesToAll ? 'all' : type === 'clientid' ? 'clientid' : 'username',
    who: appliesToAll ? '' : textOf(login),
    topic,
    action: mappedAction,
    permit: isAllowed ? 'allow' : 'deny',
    createdAtMs: timeOf(entry['created_at']),
  }
}

function banOf(entry: Entry): TableRecord | undefined {
  const { who, by, reason, at, until } = entry
  const [banKind, name] = Object.entries(typeof who === 'object' && who !== null ? who : {})[0] ?? [entry['type'], who]
  if ((banKind !== 'clientid' && banKind !== 'username' && banKind !== 'peerhost') || typeof name !== 'string')
    return undefined
  const untilMs = typeof until === 'number' ? until * 1_000 : undefined
  return { kind: 'ban', as: banKind, who: name, reason: textOf(reason), by: textOf(by), atMs: timeOf(at), untilMs }
}

function appOf(entry: Entry): TableRecord | undefined {
  const { id, secret, name, desc, status, expired } = entry
  if (typeof id !== 'string' || typeof secret !== 'string') return undefined
  const salt = randomBytes(16)
  const hash = createHash('sha256').update(salt).update(secret).digest()
  return {
    kind: 'api-key',
    id,
    name: textOf(name),
    description: textOf(desc),
    role: 'administrator',
    namespace: undefined,
    isEnabled: status !== false,
    expiresAtMs: typeof expired === 'number' ? expired * 1_000 : undefined,
    secret: { algorithm: 'sha256', memory: 0, passes: 0, lanes: 0, salt, hash },
    createdAtMs: timeOf(undefined),
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** Seconds or milliseconds since 1970. */
function timeOf(value: unknown): number {
  if (typeof value !== 'number' || !(value > 0)) return 0
  return value < 100_000_000_000 ? value * 1_000 : value
}
