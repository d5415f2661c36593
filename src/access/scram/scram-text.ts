// Messages of SCRAM as text: `n,,n=alice,r=abc` (RFC 5802, section 7).

export interface ClientFirst {
  /** The beginning up to and with the second comma, which comes back in the last message. */
  readonly header: string
  /** The rest, which is signed. */
  readonly bare: string
  readonly username: string
  readonly nonce: string
}

export interface ClientFinal {
  /** base64 of the header of the first message. */
  readonly channelBinding: string
  readonly nonce: string
  readonly proof: Buffer
  /** Everything before the proof, which is signed. */
  readonly withoutProof: string
}

/** No message of an honest client is longer: a nonce and a user name of MQTT. */
const maxMessageBytes = 4_096

/** The text of a message; undefined: it is no text, or too long to be one. */
export function readText(data: Uint8Array): string | undefined {
  if (data.length > maxMessageBytes) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(data)
  } catch {
    return undefined
  }
}

/**
 * `n` and `y` say that the channel is not bound, and we never offer to bind it, so both are true; `p=` asks for what was
 * not offered [RFC5802-6]. Somebody may come in the name of another (`a=`) only where it is their own.
 */
export function readClientFirst(text: string): ClientFirst | { readonly problem: string } {
  const parts = /^([ny],(?:a=([^,]*))?,)((?:n=([^,]*)),r=([!-+\--~]+))$/.exec(text)
  if (parts === null) {
    return { problem: text.startsWith('p=') ? 'it asks to bind the channel' : 'the first message is malformed' }
  }
  const [, header, authorization, bare, name, nonce] = parts
  const username = unescapeName(name)
  if (username === undefined || username === '') return { problem: 'the user name is malformed' }
  if (authorization !== undefined && unescapeName(authorization) !== username) {
    return { problem: 'it asks to act in the name of another' }
  }
  return { header, bare, username, nonce }
}

export function readClientFinal(text: string): ClientFinal | undefined {
  const parts = /^(c=([A-Za-z0-9+/=]+),r=([!-+\--~]+)),p=([A-Za-z0-9+/]+={0,2})$/.exec(text)
  if (parts === null) return undefined
  const [, withoutProof, channelBinding, nonce, proof] = parts
  return { channelBinding, nonce, proof: Buffer.from(proof, 'base64'), withoutProof }
}

/** `=2C` is a comma and `=3D` an equals sign; any other use of `=` is malformed. */
function unescapeName(text: string): string | undefined {
  if (/=(?!2C|3D)/.test(text)) return undefined
  return text.replace(/=2C/g, ',').replace(/=3D/g, '=')
}

/**
 * A password or user name as it is hashed, by SASLprep (RFC 4013) as far as texts of today need it: wide spaces become
 * spaces, invisible characters go, compatible forms become one. Undefined: it holds control characters.
 */
export function prepareText(text: string): string | undefined {
  const prepared = text
    .replace(/[\u00A0\u1680\u2000-\u200A\u202F\u205F\u3000]/g, ' ')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .normalize('NFKC')
  return /\p{Cc}/u.test(prepared) ? undefined : prepared
}
