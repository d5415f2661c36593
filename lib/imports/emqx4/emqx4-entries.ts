// Values in an export of EMQX 4. Its JSON encoder writes strings of Erlang as lists of character codes.

export type Emqx4Entry = Readonly<Record<string, unknown>>

export type LoginType = 'username' | 'clientid'

const maxCharacterCode = 0x10_ffff
const maxTextCharacters = 65_535

/** Returns a text, which may be a list of character codes; undefined: it is something else. */
export function readText(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (!Array.isArray(value) || value.length === 0 || value.length > maxTextCharacters) return undefined
  const isText = value.every(
    (code) => typeof code === 'number' && Number.isInteger(code) && code > 0 && code <= maxCharacterCode,
  )
  return isText ? String.fromCodePoint(...(value as number[])) : undefined
}

/** Seconds or milliseconds since 1970. */
export function readTime(value: unknown): number {
  if (typeof value !== 'number' || !(value > 0)) return 0
  return value < 100_000_000_000 ? value * 1_000 : value
}

/** Returns the type of a name in an entry; undefined: the entry does not say it. */
export function readLoginType(value: unknown): LoginType | undefined {
  return value === 'username' || value === 'clientid' ? value : undefined
}

export const loginTypeHint =
  'versions before 4.3 do not write whether a login is a user name or a client ID: repeat the command with --login-type username or --login-type clientid, as auth.mnesia.as was in etc/plugins/emqx_auth_mnesia.conf'
