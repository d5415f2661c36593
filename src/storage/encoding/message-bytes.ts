// A stored message as bytes, version 3 (in version 1 flags 5 to 7 were never set, before version 3 there was no mount point):
//
//   flags: 0-1 QoS, 2 retain, 3 has properties, 4 expires, 5 has the publisher's user name,
//          6 published with grants of its own, 7 is a duplicate
//   topic, publisher, mount point of the publisher: text    user name: text if flag 5
//   published at: float    expires at: float if flag 4
//   properties if flag 3:  mask, then the properties of the mask, in the order below
//   payload: blob

import { copyBytes, type MessageProperties, type QoS } from '../../protocol/index.ts'
import type { StoredMessage } from '../../records/index.ts'
import type { ByteReader } from './record-byte-reader.ts'
import type { ByteWriter } from './record-byte-writer.ts'
import { DamagedRecord } from './record-byte-reader.ts'

const retainFlag = 0x04
const propertiesFlag = 0x08
const expiresFlag = 0x10
const usernameFlag = 0x20
const authorizedFlag = 0x40
const repeatFlag = 0x80

const payloadFormatBit = 0x01
const messageExpiryBit = 0x02
const contentTypeBit = 0x04
const responseTopicBit = 0x08
const correlationBit = 0x10
const userPropertiesBit = 0x20

/** Appends a message. */
export function writeMessage(writer: ByteWriter, message: StoredMessage): void {
  let flags: number = message.qos
  if (message.retain) flags |= retainFlag
  if (message.properties !== undefined) flags |= propertiesFlag
  if (message.expiresAtMs !== undefined) flags |= expiresFlag
  if (message.publisherUsername !== undefined) flags |= usernameFlag
  if (message.isByOwnRight) flags |= authorizedFlag
  if (message.isRepeat) flags |= repeatFlag
  writer.byte(flags)
  writer.text(message.topic)
  writer.text(message.publisher)
  writer.text(message.publisherMountpoint)
  if (message.publisherUsername !== undefined) writer.text(message.publisherUsername)
  writer.float(message.publishedAtMs)
  if (message.expiresAtMs !== undefined) writer.float(message.expiresAtMs)
  if (message.properties !== undefined) lastProperties.write(writer, message.properties)
  writer.blob(message.payload)
}

/** Reads a message as `writeMessage` writes it; throws DamagedRecord. */
export function readMessage(reader: ByteReader): StoredMessage {
  return readMessageFields(reader, true)
}

/** Reads a message of version 1 or 2; throws DamagedRecord. */
export function readMessage2(reader: ByteReader): StoredMessage {
  return readMessageFields(reader, false)
}

function readMessageFields(reader: ByteReader, hasMountpoint: boolean): StoredMessage {
  const flags = reader.byte()
  const topic = reader.text()
  const publisher = reader.text()
  const publisherMountpoint = hasMountpoint ? reader.text() : ''
  const publisherUsername = (flags & usernameFlag) === 0 ? undefined : reader.text()
  const publishedAtMs = reader.float()
  const expiresAtMs = (flags & expiresFlag) === 0 ? undefined : reader.float()
  const properties = (flags & propertiesFlag) === 0 ? undefined : readProperties(reader)
  return {
    topic,
    payload: reader.blob(),
    qos: toQoS(flags & 0x03),
    retain: (flags & retainFlag) !== 0,
    properties,
    publisher,
    publisherUsername,
    isByOwnRight: (flags & authorizedFlag) !== 0,
    publisherMountpoint,
    isRepeat: (flags & repeatFlag) !== 0,
    publishedAtMs,
    expiresAtMs,
  }
}

/** Throws DamagedRecord for 3. */
export function toQoS(value: number): QoS {
  if (value !== 0 && value !== 1 && value !== 2) throw new DamagedRecord(`${value} is no QoS`)
  return value
}

function writeProperties(writer: ByteWriter, properties: MessageProperties): void {
  const { payloadFormatIndicator, messageExpiryIntervalSeconds, contentType } = properties
  const { responseTopic, correlationData, userProperties } = properties
  let mask = 0
  if (payloadFormatIndicator !== undefined) mask |= payloadFormatBit
  if (messageExpiryIntervalSeconds !== undefined) mask |= messageExpiryBit
  if (contentType !== undefined) mask |= contentTypeBit
  if (responseTopic !== undefined) mask |= responseTopicBit
  if (correlationData !== undefined) mask |= correlationBit
  if (userProperties !== undefined) mask |= userPropertiesBit
  writer.byte(mask)
  if (payloadFormatIndicator !== undefined) writer.byte(payloadFormatIndicator)
  if (messageExpiryIntervalSeconds !== undefined) writer.varint(messageExpiryIntervalSeconds)
  if (contentType !== undefined) writer.text(contentType)
  if (responseTopic !== undefined) writer.text(responseTopic)
  if (correlationData !== undefined) writer.blob(correlationData)
  if (userProperties === undefined) return
  writer.varint(userProperties.length)
  for (const [name, value] of userProperties) {
    writer.text(name)
    writer.text(value)
  }
}

/** Messages in a row may share their properties: those are encoded twice, and copied from then on. */
class LastProperties {
  #last: MessageProperties | undefined
  #bytes: Buffer | undefined

  write(writer: ByteWriter, properties: MessageProperties): void {
    const isSame = properties === this.#last
    if (isSame && this.#bytes !== undefined) return writer.rawBytes(this.#bytes)
    const start = writer.length
    writeProperties(writer, properties)
    this.#last = properties
    this.#bytes = isSame ? copyBytes(writer.bytes, start, writer.length) : undefined
  }
}

const lastProperties = new LastProperties()

function readProperties(reader: ByteReader): MessageProperties {
  const mask = reader.byte()
  const properties: MessageProperties = {}
  if ((mask & payloadFormatBit) !== 0) properties.payloadFormatIndicator = reader.byte() === 0 ? 0 : 1
  if ((mask & messageExpiryBit) !== 0) properties.messageExpiryIntervalSeconds = reader.varint()
  if ((mask & contentTypeBit) !== 0) properties.contentType = reader.text()
  if ((mask & responseTopicBit) !== 0) properties.responseTopic = reader.text()
  if ((mask & correlationBit) !== 0) properties.correlationData = reader.blob()
  if ((mask & userPropertiesBit) !== 0) {
    const pairs: (readonly [string, string])[] = []
    for (let left = reader.varint(); left > 0; left--) pairs.push([reader.text(), reader.text()])
    properties.userProperties = pairs
  }
  return properties
}
