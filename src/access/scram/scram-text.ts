// Parses the messages that a SCRAM client sends, such as `n,,n=alice,r=abc` (RFC 5802, section 7).

export interface ClientFirst {
  /** The part up to and including the second comma. The final message repeats it in Base64. */
  readonly header: string
  /** The part after the header, which the proof covers. */
  readonly bare: string
  readonly username: string
  readonly nonce: string
}

export interface ClientFinal {
  /** Base64 of `header` of the first message. */
  readonly channelBinding: string
  readonly nonce: string
  readonly proof: Buffer
  /** The message without `,p=...`, which the proof covers. */
  readonly withoutProof: string
}

/** Maximum size of a message. */
const maxMessageBytes = 4_096

/** Returns the text of a message; undefined if it is not text or too long. */
export function readText(data: Uint8Array): string | undefined {
  if (data.length > maxMessageBytes) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(data)
  } catch {
    return undefined
  }
}

/**
 * Parses the first message of the client. It may begin with `n` or `y` (no channel binding), but not with `p=`: the broker
 * does not offer channel binding [RFC5802-6]. An authorization name (`a=`) must equal the user name.
 */
export function readClientFirst(text: string): ClientFirst | { readonly problem: string } {
  const parts = /^([ny],(?:a=([^,]*))?,)((?:n=([^,]*)),r=([!-+\--~]+))$/.exec(text)
  if (parts === null) {
    return {
      problem: text.startsWith('p=')
        ? 'it requires channel binding, which the broker does not offer'
        : 'the first message is malformed',
    }
  }
  const [, header, authorization, bare, name, nonce] = parts
  const username = unescapeName(name)
  if (username === undefined || username === '') return { problem: 'the user name is malformed' }
  if (authorization !== undefined && unescapeName(authorization) !== username) {
    return { problem: 'its authorization name is not its user name' }
  }
  return { header, bare, username, nonce }
}

/** Parses the final message of the client; undefined if it is malformed. */
export function readClientFinal(text: string): ClientFinal | undefined {
  const parts = /^(c=([A-Za-z0-9+/=]+),r=([!-+\--~]+)),p=([A-Za-z0-9+/]+={0,2})$/.exec(text)
  if (parts === null) return undefined
  const [, withoutProof, channelBinding, nonce, proof] = parts
  return { channelBinding, nonce, proof: Buffer.from(proof, 'base64'), withoutProof }
}

/** `=2C` is a comma and `=3D` an equals sign; any other `=` is malformed. */
function unescapeName(text: string): string | undefined {
  if (/=(?!2C|3D)/.test(text)) return undefined
  return text.replace(/=2C/g, ',').replace(/=3D/g, '=')
}

/**
 * Prepares a password or user name for hashing, by SASLprep (RFC 4013) as far as current texts need it: special spaces
 * become spaces, invisible characters are removed, compatible forms become one. Undefined if it contains control
 * characters.
 */
export function prepareText(text: string): string | undefined {
  const prepared = text
    .replace(/[\u00A0\u1680\u2000-\u200A\u202F\u205F\u3000]/g, ' ')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .normalize('NFKC')
  return /\p{Cc}/u.test(prepared) ? undefined : prepared
}
