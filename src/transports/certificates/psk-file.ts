// A file of pre-shared keys: one line each, `identity:hex`. The last colon separates, so identities may contain colons.
// Empty lines and lines that start with # are ignored.

export type PreSharedKeys = ReadonlyMap<string, Buffer>

export type PskFile =
  | { readonly keys: PreSharedKeys }
  /** `line` starts at 1. The problem never quotes the line, which may contain a key. */
  | { readonly line: number; readonly problem: string }

/** RFC 4279: identities up to 128 bytes must be supported. OpenSSL accepts no longer ones. */
const maxIdentityBytes = 128
const minKeyBytes = 8
const maxKeyBytes = 256

export function parsePskFile(text: string): PskFile {
  const keys = new Map<string, Buffer>()
  for (const [index, raw] of text.split('\n').entries()) {
    const entry = raw.trim()
    if (entry === '' || entry.startsWith('#')) continue
    const line = index + 1
    const colon = entry.lastIndexOf(':')
    const identity = entry.slice(0, Math.max(0, colon))
    const hex = entry.slice(colon + 1)
    if (identity === '') return { line, problem: 'no identity; write identity:key, the key in hexadecimal' }
    if (Buffer.byteLength(identity) > maxIdentityBytes) {
      return { line, problem: `the identity is longer than ${maxIdentityBytes} bytes` }
    }
    if (!/^(?:[0-9a-f]{2})+$/i.test(hex)) return { line, problem: 'the key is not hexadecimal' }
    const key = Buffer.from(hex, 'hex')
    if (key.length < minKeyBytes || key.length > maxKeyBytes) {
      return { line, problem: `the key has ${key.length} bytes; it must have ${minKeyBytes} to ${maxKeyBytes}` }
    }
    if (keys.has(identity)) return { line, problem: 'the identity occurs twice' }
    keys.set(identity, key)
  }
  return { keys }
}
