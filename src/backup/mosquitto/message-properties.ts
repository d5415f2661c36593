// Properties of a PUBLISH of 5.0, as they stand on the wire. mosquitto keeps them so.

import type { MessageProperties } from '../../protocol/index.ts'
import { InvalidArchive } from '../invalid-archive.ts'

const identifiers = {
  payloadFormatIndicator: 0x01,
  messageExpiryInterval: 0x02,
  contentType: 0x03,
  responseTopic: 0x08,
  correlationData: 0x09,
  topicAlias: 0x23,
  userProperty: 0x26,
} as const

/** `bytes`: length and properties; empty: none. Throws InvalidArchive. */
export function messagePropertiesIn(bytes: Buffer): MessageProperties {
  const found: { -readonly [Key in keyof MessageProperties]: MessageProperties[Key] } = {}
  const userProperties: [string, string][] = []
  let at = lengthBytes(bytes)
  const take = (count: number): Buffer => {
    if (at + count > bytes.length) throw new InvalidArchive('the properties of a message are not whole')
    at += count
    return bytes.subarray(at - count, at)
  }
  const takeBinary = (): Buffer => take(take(2).readUInt16BE(0))
  while (at < bytes.length) {
    const identifier = take(1).readUInt8(0)
    if (identifier === identifiers.payloadFormatIndicator)
      found.payloadFormatIndicator = take(1).readUInt8(0) === 1 ? 1 : 0
    else if (identifier === identifiers.messageExpiryInterval) take(4)
    else if (identifier === identifiers.contentType) found.contentType = takeBinary().toString()
    else if (identifier === identifiers.responseTopic) found.responseTopic = takeBinary().toString()
    else if (identifier === identifiers.correlationData) found.correlationData = Buffer.from(takeBinary())
    else if (identifier === identifiers.topicAlias) take(2)
    else if (identifier === identifiers.userProperty)
      userProperties.push([takeBinary().toString(), takeBinary().toString()])
    else throw new InvalidArchive(`a message has a property 0x${identifier.toString(16)} that no PUBLISH has`)
  }
  if (userProperties.length > 0) found.userProperties = userProperties
  return found
}

/** Of the variable byte integer in front. */
function lengthBytes(bytes: Buffer): number {
  let at = 0
  while (at < bytes.length && at < 4 && (bytes[at] ?? 0) >= 128) at += 1
  return Math.min(bytes.length, at + 1)
}
