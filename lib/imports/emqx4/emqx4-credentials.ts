// Passwords of EMQX 4. The length of the digest in hexadecimal tells its algorithm; four bytes of salt may stand before it.
//
//   auth_mnesia     {login, type, password, created_at}   since 4.3
//                   {login, password, is_superuser}       before: whether `login` is a user name is in the configuration
//   auth_username   {username, password}                  4.0 and 4.1
//   auth_clientid   {clientid, password}
//
// EMQX refused wrong passwords of a client in these tables. A client that is left out would be unknown, and could be admitted as an
// anonymous client with the same name. So a password that cannot be read is replaced by a random one.

import { randomBytes } from 'node:crypto'
import type { CredentialRecord, PasswordHash } from '../../../src/records/index.ts'
import { InvalidArchive } from '../../../src/archives/index.ts'
import { loginTypeHint, type Emqx4Entry, type LoginType, readLoginType, readText, readTime } from './emqx4-entries.ts'
import type { Emqx4Report } from './emqx4-report.ts'

const digests: Readonly<Record<number, PasswordHash>> = { 32: 'md5', 40: 'sha', 64: 'sha256', 128: 'sha512' }
const saltBytes = 4
const sha256Bytes = 32

interface CredentialSections {
  readonly auth_mnesia: readonly Emqx4Entry[]
  readonly auth_username: readonly Emqx4Entry[]
  readonly auth_clientid: readonly Emqx4Entry[]
}

interface CredentialOptions {
  readonly loginType: LoginType | undefined
  readonly report: Emqx4Report
}

/** Throws InvalidArchive if it is unknown which names have the passwords. */
export function convertCredentials(sections: CredentialSections, options: CredentialOptions): CredentialRecord[] {
  const found = new Map<string, CredentialRecord>()
  const add = (section: string, by: LoginType, id: unknown, entry: Emqx4Entry): void => {
    const name = readText(id)
    if (name === undefined || name === '' || name.includes('\0'))
      return options.report.skip(section, '', 'an entry without a name')
    const key = `${by} ${name}`
    if (found.has(key)) return options.report.skip(section, key, 'the name occurs twice: the first password is used')
    found.set(key, toCredential(entry, { by, id: name, section, report: options.report }))
  }
  for (const entry of sections.auth_mnesia) {
    const by = readLoginType(entry['type']) ?? (entry['type'] === undefined ? options.loginType : undefined)
    if (by === undefined) throw new InvalidArchive(`auth_mnesia has logins without a type: ${loginTypeHint}`)
    add('auth_mnesia', by, entry['login'], entry)
  }
  for (const entry of sections.auth_username) add('auth_username', 'username', entry['username'], entry)
  for (const entry of sections.auth_clientid) add('auth_clientid', 'clientid', entry['clientid'], entry)
  return [...found.values()]
}

function toCredential(
  entry: Emqx4Entry,
  owner: { readonly by: LoginType; readonly id: string; readonly section: string; readonly report: Emqx4Report },
): CredentialRecord {
  const { by, id, section, report } = owner
  const isSuperuser = entry['is_superuser'] === true
  const common = {
    kind: 'credential',
    by,
    id,
    saltPosition: 'prefix',
    createdAtMs: readTime(entry['created_at']),
  } as const
  const password = readPassword(entry['password'])
  if (password !== undefined) return { ...common, ...password, isSuperuser }
  report.restrict(section, `${by} ${id}`, 'the password cannot be read: the name cannot log in before a new one is set')
  const unknown = { algorithm: 'sha256', salt: randomBytes(saltBytes), hash: randomBytes(sha256Bytes) } as const
  return { ...common, ...unknown, isSuperuser: false }
}

type ReadPassword = Pick<CredentialRecord, 'algorithm' | 'salt' | 'hash'>

/** Versions before 4.1 wrote a digest without base64 around it. */
function readPassword(written: unknown): ReadPassword | undefined {
  if (typeof written !== 'string') return undefined
  const plain = readDigest('', written)
  if (plain !== undefined) return plain
  const bytes = Buffer.from(written, 'base64')
  const whole = bytes.toString('latin1')
  return readDigest('', whole) ?? readDigest(whole.slice(0, saltBytes), whole.slice(saltBytes))
}

function readDigest(salt: string, digest: string): ReadPassword | undefined {
  const algorithm = /^[0-9a-f]+$/.test(digest) ? digests[digest.length] : undefined
  if (algorithm === undefined) return undefined
  return { algorithm, salt: Buffer.from(salt, 'latin1'), hash: Buffer.from(digest, 'hex') }
}
