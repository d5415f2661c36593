// A client identifier as one level of a topic. What cannot stand there is escaped, so that no client is left out and two
// clients never have the same level:
//
//   a/b   a%2Fb        /, +, # and U+0000 are percent-encoded
//   a%2Fb a%252Fb      a % is encoded only where it could be taken for one of these escapes
//   xxx…  xxx%-<hash>  what is too long is cut, and its SHA-256 follows

import { hash } from 'node:crypto'

const notAllowed = /[/+#\0]|%(?=2F|2B|23|00|25|-)/g

const escapes: Readonly<Record<string, string>> = { '/': '%2F', '+': '%2B', '#': '%23', '\0': '%00', '%': '%25' }

/** The digest in hexadecimal, and what stands before it. */
const cutMark = '%-'
const cutMarkBytes = cutMark.length + 64

/** `maxBytes`: of the result, in UTF-8. More than a digest takes. */
export function topicLevelOf(clientId: string, maxBytes: number): string {
  const level = clientId.replace(notAllowed, (found) => escapes[found] ?? found)
  if (Buffer.byteLength(level) <= maxBytes) return level
  const kept = new TextDecoder().decode(Buffer.from(level).subarray(0, maxBytes - cutMarkBytes), { stream: true })
  return `${kept}${cutMark}${hash('sha256', clientId)}`
}
