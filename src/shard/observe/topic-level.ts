// Encodes a client ID as one topic level. Characters that are not allowed there are escaped, so that each client has a level and no
// two clients have the same:
//
//   a/b   a%2Fb        /, +, # and U+0000 are percent-encoded
//   a%2Fb a%252Fb      % is encoded only where it could be taken for one of these escapes
//   xxx…  xxx%-<hash>  a long ID is truncated, and its SHA-256 follows

import { hash } from 'node:crypto'

const notAllowed = /[/+#\0]|%(?=2F|2B|23|00|25|-)/g

const escapes: Readonly<Record<string, string>> = { '/': '%2F', '+': '%2B', '#': '%23', '\0': '%00', '%': '%25' }

/** Separates a truncated client ID from its hexadecimal digest. */
const cutMark = '%-'
const cutMarkBytes = cutMark.length + 64

/** Returns the topic level. `maxBytes`: maximum size in UTF-8, which must be larger than a digest. */
export function toTopicLevel(clientId: string, maxBytes: number): string {
  const level = clientId.replace(notAllowed, (found) => escapes[found] ?? found)
  if (Buffer.byteLength(level) <= maxBytes) return level
  const kept = new TextDecoder().decode(Buffer.from(level).subarray(0, maxBytes - cutMarkBytes), { stream: true })
  return `${kept}${cutMark}${hash('sha256', clientId)}`
}
