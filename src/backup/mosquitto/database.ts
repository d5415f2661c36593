// mosquitto.db of mosquitto 1.4 to 2.0 (formats 5 and 6): retained messages are taken over; sessions are counted.
//
//   magic (15 bytes) | checksum | version | chunk ...      chunk: type | length | content, all numbers of these big-endian
//
// Numbers that mosquitto wrote as they lay in its memory (message ids, times) are read as little-endian.

import { type MessageProperties, parseTopicName } from '../../protocol/index.ts'
import type { RetainedRecord } from '../../records/index.ts'
import { InvalidArchive } from '../invalid-archive.ts'
import type { Converted } from './converted.ts'
import { messagePropertiesIn } from './message-properties.ts'

const magic = Buffer.from('\0\u00b5\0mosquitto db\0', 'latin1').subarray(0, 15)
const headerBytes = 23
const chunkHeaderBytes = 8
const chunkTypes = { message: 2, queued: 3, retained: 4, subscription: 5, client: 6 } as const
/** In front of its texts. */
const messageHeadBytes = 32

/** Throws InvalidArchive where it is no such file, or a chunk is not whole. */
export function convertDatabase(bytes: Buffer, nowMs: number): Converted<RetainedRecord[]> {
  checkHeader(bytes)
  const messages = new Map<bigint, RetainedRecord['message'] | string>()
  const retained: bigint[] = []
  const counts = { queued: 0, subscription: 0, client: 0 }
  for (const { type, content } of chunksIn(bytes)) {
    if (type === chunkTypes.message) messages.set(...messageIn(content, nowMs))
    else if (type === chunkTypes.retained) retained.push(content.readBigUInt64LE(0))
    else if (type === chunkTypes.queued) counts.queued += 1
    else if (type === chunkTypes.subscription) counts.subscription += 1
    else if (type === chunkTypes.client) counts.client += 1
  }
  const skipped = sessionsInWords(counts)
  const value = retained.flatMap((id): RetainedRecord[] => {
    const message = messages.get(id)
    if (typeof message === 'object') return [{ kind: 'retained', message }]
    if (message !== undefined) skipped.push(message)
    return []
  })
  return { value, skipped }
}

function checkHeader(bytes: Buffer): void {
  if (bytes.length < headerBytes || !bytes.subarray(0, magic.length).equals(magic))
    throw new InvalidArchive('it is no database of mosquitto')
  const version = bytes.readUInt32BE(headerBytes - 4)
  if (version !== 5 && version !== 6)
    throw new InvalidArchive(`it is of format ${version}, and only 5 and 6 are read: start mosquitto 2.0 with it once`)
}

function* chunksIn(bytes: Buffer): Generator<{ readonly type: number; readonly content: Buffer }> {
  let at = headerBytes
  while (at < bytes.length) {
    if (at + chunkHeaderBytes > bytes.length) throw new InvalidArchive('its last chunk is not whole')
    const end = at + chunkHeaderBytes + bytes.readUInt32BE(at + 4)
    if (end > bytes.length) throw new InvalidArchive('its last chunk is not whole: mosquitto was writing it')
    yield { type: bytes.readUInt32BE(at), content: bytes.subarray(at + chunkHeaderBytes, end) }
    at = end
  }
}

/**
 *   id 8 | expiry 8 | payload length 4 | source mid 2 | source id length 2 | user name length 2 | topic length 2
 *   | port 2 | qos 1 | retain 1 | source id | user name | topic | payload | properties
 */
function messageIn(content: Buffer, nowMs: number): [bigint, RetainedRecord['message'] | string] {
  if (content.length < messageHeadBytes) throw new InvalidArchive('a message in it is not whole')
  const id = content.readBigUInt64LE(0)
  const expirySeconds = Number(content.readBigInt64LE(8))
  const payloadBytes = content.readUInt32BE(16)
  const [sourceBytes, userBytes, topicBytes] = [22, 24, 26].map((at) => content.readUInt16BE(at)) as [
    number,
    number,
    number,
  ]
  const qos = content.readUInt8(30)
  const topicAt = messageHeadBytes + sourceBytes + userBytes
  const payloadAt = topicAt + topicBytes
  const propertiesAt = payloadAt + payloadBytes
  if (propertiesAt > content.length || qos > 2) throw new InvalidArchive('a message in it is not whole')
  const topic = content.toString('utf8', topicAt, payloadAt)
  if (topic.startsWith('$')) return [id, `the retained message of ${topic} is the broker's own`]
  if (parseTopicName(topic) === undefined)
    return [id, `a retained message has no valid topic: ${JSON.stringify(topic.slice(0, 100))}`]
  const expiresAtMs = expirySeconds > 0 ? expirySeconds * 1_000 : undefined
  if (expiresAtMs !== undefined && expiresAtMs <= nowMs) return [id, `the retained message of ${topic} has expired`]
  const seconds = expiresAtMs === undefined ? undefined : Math.ceil((expiresAtMs - nowMs) / 1_000)
  const properties = propertiesOf(content.subarray(propertiesAt), seconds)
  return [
    id,
    {
      topic,
      payload: Buffer.from(content.subarray(payloadAt, propertiesAt)),
      qos: qos as 0 | 1 | 2,
      retain: true,
      properties,
      publisher: content.toString('utf8', messageHeadBytes, messageHeadBytes + sourceBytes),
      publisherUsername: userBytes === 0 ? undefined : content.toString('utf8', topicAt - userBytes, topicAt),
      isByOwnRight: false,
      publisherMountpoint: '',
      isRepeat: false,
      publishedAtMs: nowMs,
      expiresAtMs,
    },
  ]
}

function propertiesOf(bytes: Buffer, expirySeconds: number | undefined): MessageProperties | undefined {
  const read = messagePropertiesIn(bytes)
  const all = expirySeconds === undefined ? read : { ...read, messageExpiryIntervalSeconds: expirySeconds }
  return Object.keys(all).length === 0 ? undefined : all
}

function sessionsInWords({
  client,
  subscription,
  queued,
}: {
  client: number
  subscription: number
  queued: number
}): string[] {
  if (client === 0) return []
  return [
    `${client} sessions with ${subscription} subscriptions and ${queued} queued messages: clients get a session when they connect and subscribe; let them connect to mosquitto once more to take what is queued`,
  ]
}
