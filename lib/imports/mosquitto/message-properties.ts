// Decodes the properties of a PUBLISH of MQTT 5.0. mosquitto stores them in the same form as on the wire.

import type { MessageProperties } from '../../../src/protocol/index.ts'
import { InvalidArchive } from '../../../src/archives/index.ts'

const identifiers = {
  payloadFormatIndicator: 0x01,
  messageExpiryInterval: 0x02,
  contentType: 0x03,
  responseTopic: 0x08,
  correlationData: 0x09,
  subscriptionIdentifier: 0x0b,
  topicAlias: 0x23,
  userProperty: 0x26,
} as const

export interface ReadProperties {
  readonly properties: MessageProperties
  readonly subscriptionIdentifiers: readonly number[]
}

/** `bytes`: length and properties; empty: none. Throws InvalidArchive. */
export function parsePublishProperties(bytes: Buffer): ReadProperties {
  const found: { -readonly [Key in keyof MessageProperties]: MessageProperties[Key] } = {}
  const userProperties: [string, string][] = []
  const subscriptionIdentifiers: number[] = []
  let at = 0
  const take = (count: number): Buffer => {
    if (at + count > bytes.length) throw new InvalidArchive('the properties of a message are truncated')
    at += count
    return bytes.subarray(at - count, at)
  }
  const takeBinary = (): Buffer => take(take(2).readUInt16BE(0))
  const takeText = (): string => {
    const text = takeBinary().toString()
    if (text.includes('\0')) throw new InvalidArchive('a text in the properties of a message has U+0000')
    return text
  }
  const takeVariable = (): number => {
    let value = 0
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = take(1).readUInt8(0)
      value += (byte & 0x7f) * 2 ** shift
      if (byte < 128) return value
    }
    throw new InvalidArchive('a variable byte integer in the properties of a message has more than four bytes')
  }
  if (bytes.length > 0) takeVariable()
  while (at < bytes.length) {
    const identifier = take(1).readUInt8(0)
    if (identifier === identifiers.payloadFormatIndicator)
      found.payloadFormatIndicator = take(1).readUInt8(0) === 1 ? 1 : 0
    else if (identifier === identifiers.messageExpiryInterval) take(4)
    else if (identifier === identifiers.contentType) found.contentType = takeText()
    else if (identifier === identifiers.responseTopic) found.responseTopic = takeText()
    else if (identifier === identifiers.correlationData) found.correlationData = Buffer.from(takeBinary())
    else if (identifier === identifiers.subscriptionIdentifier) subscriptionIdentifiers.push(takeVariable())
    else if (identifier === identifiers.topicAlias) take(2)
    else if (identifier === identifiers.userProperty) userProperties.push([takeText(), takeText()])
    else
      throw new InvalidArchive(`a message has the property 0x${identifier.toString(16)}, which PUBLISH does not have`)
  }
  if (userProperties.length > 0) found.userProperties = userProperties
  return { properties: found, subscriptionIdentifiers }
}
