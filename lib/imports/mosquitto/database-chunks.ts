// Decodes the chunks of mosquitto.db, formats 2 to 6.
//
//   magic (15 bytes) | checksum u32 | format u32 | chunk ...       numbers are big-endian
//
//   format 2, 3, 4   type u16 | length u32 | fields                mosquitto 1.0 to 1.5
//   format 5, 6      type u32 | length u32 | fixed fields | texts  mosquitto 1.6, 2.0
//
// Numbers that mosquitto writes in native byte order (message identifiers, times) are read as little-endian. Formats 2 to 4 are
// read field by field: the length of a message of format 4 does not include its user name and port.

import type { MessageProperties } from '../../../src/protocol/index.ts'
import { InvalidArchive } from '../../../src/archives/index.ts'
import { ChunkReader } from './chunk-reader.ts'
import { parsePublishProperties } from './message-properties.ts'

/** A message without its receivers: queued and retained chunks refer to it by `id`. */
export interface MessageChunk {
  readonly chunk: 'message'
  readonly id: bigint
  /** 0: the message does not expire. */
  readonly expiresAtSeconds: number
  readonly publisher: string
  readonly publisherUsername: string
  readonly topic: string
  readonly payload: Buffer
  readonly qos: number
  readonly retain: boolean
  readonly properties: MessageProperties
}

/** A message that waits for a client, or a QoS 2 message of a client that the client did not release yet. */
export interface QueuedChunk {
  readonly chunk: 'queued'
  readonly clientId: string
  readonly messageId: bigint
  readonly packetId: number
  readonly qos: number
  readonly retain: boolean
  readonly isForClient: boolean
  /** See `messageStates`. */
  readonly state: number
  readonly wasSent: boolean
  readonly subscriptionIdentifiers: readonly number[]
}

export interface SubscriptionChunk {
  readonly chunk: 'subscription'
  readonly clientId: string
  readonly filter: string
  readonly qos: number
  readonly noLocal: boolean
  readonly retainAsPublished: boolean
  /** Subscription identifier; 0: none. */
  readonly identifier: number
}

export interface ClientChunk {
  readonly chunk: 'client'
  readonly clientId: string
  /** '': the client has none, or the format does not contain it. */
  readonly username: string
  /** Port of the last listener of the client; 0: unknown. */
  readonly port: number
  readonly expirySeconds: number
  /** Undefined: the format does not contain it, or the session does not expire. */
  readonly expiresAtSeconds: number | undefined
  /** Only formats 3 and 4 contain it. */
  readonly disconnectedAtSeconds: number | undefined
}

export type DatabaseChunk =
  | MessageChunk
  | QueuedChunk
  | SubscriptionChunk
  | ClientChunk
  | { readonly chunk: 'retained'; readonly messageId: bigint }

/** States of a message for a client that the import distinguishes. */
export const messageStates = {
  waitsForPuback: 3,
  waitsForPubrec: 5,
  resendsPubrel: 6,
  waitsForPubrel: 7,
  waitsForPubcomp: 9,
}

/** A session with this value does not expire. */
export const neverExpires = 0xffffffff

const magic = Buffer.from('\0\u00b5\0mosquitto db\0', 'latin1').subarray(0, 15)
const headerBytes = 23
const types = { settings: 1, message: 2, queued: 3, retained: 4, subscription: 5, client: 6 } as const
/** Bytes of a message identifier. No build of mosquitto with another size is known. */
const identifierBytes = 8

/** Throws InvalidArchive. */
export function* readChunks(bytes: Buffer): Generator<DatabaseChunk> {
  const format = readFormat(bytes)
  let at = headerBytes
  while (at < bytes.length) {
    const isOld = format < 5
    const header = new ChunkReader(bytes, at, at + (isOld ? 6 : 8))
    const type = isOld ? header.uint16() : header.uint32()
    const length = header.uint32()
    const isKnown = type >= types.settings && type <= types.client
    const reader = new ChunkReader(bytes, header.at, isOld && isKnown ? bytes.length : header.at + length)
    const read = isOld ? readOldChunk(type, reader, { format, length }) : readChunk(type, reader, format)
    if (read !== undefined) yield read
    at = isOld && isKnown ? reader.at : header.at + length
  }
}

function readFormat(bytes: Buffer): number {
  if (bytes.length < headerBytes || !bytes.subarray(0, magic.length).equals(magic))
    throw new InvalidArchive('it is not a mosquitto database')
  const format = bytes.readUInt32BE(headerBytes - 4)
  if (format >= 2 && format <= 6) return format
  throw new InvalidArchive(
    `the database has format ${format}; only formats 2 to 6 are supported: start and stop mosquitto 1.4 or 2.0 once with this database`,
  )
}

function checkSettings(size: number): void {
  if (size !== identifierBytes)
    throw new InvalidArchive(`the message identifiers have ${size} bytes; only ${identifierBytes} bytes are supported`)
}

/** Formats 5 and 6. */
function readChunk(type: number, reader: ChunkReader, format: number): DatabaseChunk | undefined {
  switch (type) {
    case types.settings:
      reader.bytes(identifierBytes + 1)
      checkSettings(reader.uint8())
      return undefined
    case types.message:
      return readMessage(reader)
    case types.queued:
      return readQueued(reader)
    case types.retained:
      return { chunk: 'retained', messageId: reader.identifier() }
    case types.subscription:
      return readSubscription(reader)
    case types.client:
      return readClient(reader, format)
    default:
      return undefined
  }
}

function readMessage(reader: ChunkReader): MessageChunk {
  const id = reader.identifier()
  const expiresAtSeconds = reader.seconds(8)
  const payloadBytes = reader.uint32()
  reader.uint16() // The packet identifier of its publisher.
  const [publisherBytes, usernameBytes, topicBytes] = [reader.uint16(), reader.uint16(), reader.uint16()]
  reader.uint16() // The port.
  return {
    chunk: 'message',
    id,
    expiresAtSeconds,
    qos: checkQoS(reader.uint8()),
    retain: reader.uint8() !== 0,
    publisher: reader.text(publisherBytes),
    publisherUsername: reader.text(usernameBytes),
    topic: reader.text(topicBytes),
    payload: reader.bytes(payloadBytes),
    properties: parsePublishProperties(reader.rest()).properties,
  }
}

function readQueued(reader: ChunkReader): QueuedChunk {
  const messageId = reader.identifier()
  const packetId = reader.uint16()
  const clientIdBytes = reader.uint16()
  const qos = checkQoS(reader.uint8())
  const state = reader.uint8()
  const retainAndDup = reader.uint8()
  const direction = reader.uint8()
  const clientId = reader.text(clientIdBytes)
  const { subscriptionIdentifiers } = parsePublishProperties(reader.rest())
  const [retain, wasSent, isForClient] = [retainAndDup >> 4 !== 0, (retainAndDup & 0x0f) !== 0, direction === 1]
  return {
    chunk: 'queued',
    clientId,
    messageId,
    packetId,
    qos,
    retain,
    isForClient,
    state,
    wasSent,
    subscriptionIdentifiers,
  }
}

function readSubscription(reader: ChunkReader): SubscriptionChunk {
  const identifier = reader.uint32()
  const [clientIdBytes, filterBytes] = [reader.uint16(), reader.uint16()]
  const qos = checkQoS(reader.uint8())
  const options = reader.uint8()
  reader.bytes(reader.left - Math.min(reader.left, clientIdBytes + filterBytes)) // The structure is padded.
  return {
    chunk: 'subscription',
    clientId: reader.text(clientIdBytes),
    filter: reader.text(filterBytes),
    qos,
    noLocal: (options & 0x04) !== 0,
    retainAsPublished: (options & 0x08) !== 0,
    identifier,
  }
}

function readClient(reader: ChunkReader, format: number): ClientChunk {
  const expiresAtSeconds = reader.seconds(8)
  const expirySeconds = reader.uint32()
  reader.uint16() // The last packet identifier.
  const clientIdBytes = reader.uint16()
  const [port, usernameBytes] = format === 6 ? [reader.uint16(), reader.uint16()] : [0, 0]
  if (format === 6) reader.bytes(4) // The structure is padded.
  return {
    chunk: 'client',
    clientId: reader.text(clientIdBytes),
    username: reader.text(usernameBytes),
    port,
    expirySeconds,
    expiresAtSeconds: expiresAtSeconds > 0 && expirySeconds !== neverExpires ? expiresAtSeconds : undefined,
    disconnectedAtSeconds: undefined,
  }
}

/** Formats 2, 3 and 4. */
function readOldChunk(
  type: number,
  reader: ChunkReader,
  { format, length }: { readonly format: number; readonly length: number },
): DatabaseChunk | undefined {
  switch (type) {
    case types.settings:
      reader.uint8()
      checkSettings(reader.uint8())
      reader.bytes(identifierBytes)
      return undefined
    case types.message:
      return readOldMessage(reader, format)
    case types.queued:
      return readOldQueued(reader)
    case types.retained:
      return { chunk: 'retained', messageId: reader.identifier() }
    case types.subscription: {
      const [clientId, filter, qos] = [reader.sizedText(), reader.sizedText(), checkQoS(reader.uint8())]
      return { chunk: 'subscription', clientId, filter, qos, noLocal: false, retainAsPublished: false, identifier: 0 }
    }
    case types.client:
      return readOldClient(reader, { format, length })
    default:
      return undefined
  }
}

function readOldMessage(reader: ChunkReader, format: number): MessageChunk {
  const id = reader.identifier()
  const publisher = reader.sizedText()
  const publisherUsername = format === 4 ? reader.sizedText() : ''
  if (format === 4) reader.uint16() // The port.
  reader.uint32() // Two packet identifiers.
  const topic = reader.sizedText()
  const [qos, retain] = [checkQoS(reader.uint8()), reader.uint8() !== 0]
  const payload = reader.bytes(reader.uint32())
  const properties = {}
  return {
    chunk: 'message',
    id,
    expiresAtSeconds: 0,
    publisher,
    publisherUsername,
    topic,
    payload,
    qos,
    retain,
    properties,
  }
}

function readOldQueued(reader: ChunkReader): QueuedChunk {
  return {
    chunk: 'queued',
    clientId: reader.sizedText(),
    messageId: reader.identifier(),
    packetId: reader.uint16(),
    qos: checkQoS(reader.uint8()),
    retain: reader.uint8() !== 0,
    isForClient: reader.uint8() === 1,
    state: reader.uint8(),
    wasSent: reader.uint8() !== 0,
    subscriptionIdentifiers: [],
  }
}

/** The size of the time (4 or 8 bytes) depends on the machine that wrote the file: the time fills the rest of the chunk. */
function readOldClient(
  reader: ChunkReader,
  { format, length }: { readonly format: number; readonly length: number },
): ClientChunk {
  const from = reader.at
  const clientId = reader.sizedText()
  reader.uint16() // The last packet identifier.
  const timeBytes = length - (reader.at - from) === 4 ? 4 : 8
  const disconnectedAtSeconds = format === 2 ? undefined : reader.seconds(timeBytes)
  const common = { chunk: 'client', username: '', port: 0, expirySeconds: neverExpires } as const
  return { ...common, clientId, expiresAtSeconds: undefined, disconnectedAtSeconds }
}

function checkQoS(value: number): number {
  if (value > 2) throw new InvalidArchive(`the database is damaged: a message has QoS ${value}`)
  return value
}
