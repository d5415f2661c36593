// Writes and reads the records of all peer messages except publications, which are in publish-writer.ts. A message has one record; only a
// `retained-response` has a header, and then a record for each retained message. See field-writer.ts for the fields.

import type { Interest, Message, PeerCommitted, PeerCount, PeerMessage, PeerNames, PeerPublish } from '../core/index.ts'
import { reasonCodes, type QoS, type ReasonCode } from '../protocol/index.ts'
import type { FieldWriter } from './field-writer.ts'
import type { LinkBufferReader } from './link-buffer-reader.ts'
import type { LinkBufferWriter } from './link-buffer-writer.ts'
import { LinkDecodeError } from './link-decode-error.ts'
import type { PublishWriter } from './publish-writer.ts'
import { recordKinds } from './record-kinds.ts'

type RetainedResponse = Extract<PeerMessage, { kind: 'retained-response' }>
/** A message with one record. */
type SingleRecord = Exclude<PeerMessage, PeerPublish | RetainedResponse>

const float64Bytes = 8
/** Maximum number of retained messages in one response or request. */
const maxRetainedMessages = 65_535

const interestFlags = { isFirst: 1, isComplete: 2 } as const
/** Two bits for each QoS. */
const storedQoSShift = 2
const isFullFlag = 16
const minInterestBytes = 8
const minCountBytes = 3
const knownReasons: ReadonlySet<number> = new Set(Object.values(reasonCodes))

export interface PeerMessageWriter {
  readonly writer: LinkBufferWriter
  readonly fields: FieldWriter
  readonly publishes: PublishWriter
  readonly names: PeerNames
}

export function writePeerMessage(target: PeerMessageWriter, message: Exclude<PeerMessage, PeerPublish>): void {
  const { writer, fields } = target
  if (message.kind === 'retained-response') return writeRetainedResponse(target, message)
  if (message.kind === 'committed' && isPlainCommitted(message)) return writeCommitted(writer, message.upTo)
  const kind = writeFields(target, message)
  fields.writeRecord(writer, kind)
}

/** Writes the fields of the message. Returns the kind of its record. */
function writeFields({ fields, names }: PeerMessageWriter, message: SingleRecord): number {
  switch (message.kind) {
    case 'interest':
      fields.putNumber(message.version)
      fields.putUint8(
        (message.isFirst ? interestFlags.isFirst : 0) | (message.isComplete ? interestFlags.isComplete : 0),
      )
      fields.putList(message.changes, (interest) => writeInterest(fields, interest))
      return recordKinds.interest
    case 'interest-seen':
      fields.putNumber(message.version)
      writeCounts(fields, names, message.sent)
      return recordKinds.interestSeen
    case 'release':
    case 'release-request':
      fields.putText(message.publisher).putNumber(message.packetId)
      return message.kind === 'release' ? recordKinds.release : recordKinds.releaseRequest
    case 'committed':
      fields.putNumber(message.upTo)
      fields.putList(message.refused ?? [], ({ number, reason }) => fields.putNumber(number).putUint8(reason))
      fields.putList(message.uncommitted ?? [], (number) => fields.putNumber(number))
      return recordKinds.committedInPart
    case 'retained-request':
      fields.putNumber(message.requestId).putNumber(message.limit)
      fields.putUint8(message.filter === undefined ? 0 : 1)
      if (message.filter !== undefined) fields.putText(message.filter)
      writeCounts(fields, names, message.after)
      return recordKinds.retainedRequest
    case 'retained-cancelled':
      fields.putNumber(message.requestId)
      return recordKinds.retainedCancelled
    case 'numbers-void':
      // Only stored shards have retained messages.
      fields.putUint8(message.of)
      return recordKinds.numbersVoid
    case 'exclusive-request':
    case 'exclusive-released':
      fields.putNumber(message.requestId).putText(message.filter).putText(message.clientId)
      return message.kind === 'exclusive-request' ? recordKinds.exclusiveRequest : recordKinds.exclusiveReleased
    case 'exclusive-response':
      fields.putNumber(message.requestId).putUint8(message.isGranted ? 1 : 0)
      return recordKinds.exclusiveResponse
    default:
      return message satisfies never
  }
}

/** Reads the record of a peer message; undefined for a record of another kind. */
export function readPeerMessage(reader: LinkBufferReader, names: PeerNames, kind: number): PeerMessage | undefined {
  const message = readFields(reader, names, kind)
  if (message !== undefined) reader.expectEnd()
  return message
}

function readFields(reader: LinkBufferReader, names: PeerNames, kind: number): PeerMessage | undefined {
  switch (kind) {
    case recordKinds.committed:
      return { kind: 'committed', upTo: readCommitted(reader), refused: undefined, uncommitted: undefined }
    case recordKinds.committedInPart:
      return readCommittedInPart(reader)
    case recordKinds.interest: {
      const version = reader.number()
      const flags = reader.flags(interestFlags.isFirst | interestFlags.isComplete)
      const changes = reader.list(minInterestBytes, () => readInterest(reader))
      const isFirst = (flags & interestFlags.isFirst) !== 0
      return { kind: 'interest', version, isFirst, isComplete: (flags & interestFlags.isComplete) !== 0, changes }
    }
    case recordKinds.interestSeen:
      return { kind: 'interest-seen', version: reader.number(), sent: readCounts(reader, names) }
    case recordKinds.release:
      return { kind: 'release', publisher: reader.text(), packetId: reader.packetId() }
    case recordKinds.releaseRequest:
      return { kind: 'release-request', publisher: reader.text(), packetId: reader.packetId() }
    case recordKinds.retainedRequest: {
      const requestId = reader.number()
      const limit = reader.number(maxRetainedMessages)
      const filter = reader.flags(1) === 1 ? reader.filter() : undefined
      return { kind: 'retained-request', requestId, filter, after: readCounts(reader, names), limit }
    }
    case recordKinds.retainedCancelled:
      return { kind: 'retained-cancelled', requestId: reader.number() }
    case recordKinds.numbersVoid:
      return { kind: 'numbers-void', of: reader.uint8() }
    case recordKinds.exclusiveRequest:
    case recordKinds.exclusiveReleased: {
      const requestId = reader.number()
      const filter = reader.filter()
      const name = kind === recordKinds.exclusiveRequest ? 'exclusive-request' : 'exclusive-released'
      return { kind: name, requestId, filter, clientId: reader.text() }
    }
    case recordKinds.exclusiveResponse:
      return { kind: 'exclusive-response', requestId: reader.number(), isGranted: reader.flags(1) === 1 }
    default:
      return undefined
  }
}

function isPlainCommitted({ refused, uncommitted }: PeerCommitted): boolean {
  return refused === undefined && uncommitted === undefined
}

function writeCommitted(writer: LinkBufferWriter, upTo: number): void {
  const target = writer.begin(recordKinds.committed, float64Bytes)
  writer.at = target.writeDoubleLE(upTo, writer.at)
  writer.end()
}

function readCommitted(reader: LinkBufferReader): number {
  const upTo = reader.float64()
  if (Number.isSafeInteger(upTo) && upTo >= 0) return upTo
  throw new LinkDecodeError(`${upTo} is not a number of messages`)
}

function readCommittedInPart(reader: LinkBufferReader): PeerCommitted {
  const upTo = reader.number()
  const refused = reader.list(2, () => ({ number: reader.number(), reason: readReason(reader) }))
  const uncommitted = reader.list(1, () => reader.number())
  return {
    kind: 'committed',
    upTo,
    refused: refused.length === 0 ? undefined : refused,
    uncommitted: uncommitted.length === 0 ? undefined : uncommitted,
  }
}

function readReason(reader: LinkBufferReader): ReasonCode {
  const reason = reader.uint8()
  if (!knownReasons.has(reason)) throw new LinkDecodeError(`${reason} is not a reason code`)
  return reason as ReasonCode
}

function writeInterest(
  fields: FieldWriter,
  { filter, members, storedMembers, storedQoS, qos, isFull }: Interest,
): void {
  fields.putText(filter).putNumber(members).putNumber(storedMembers)
  fields.putUint8(qos | (storedQoS << storedQoSShift) | (isFull ? isFullFlag : 0))
}

function readInterest(reader: LinkBufferReader): Interest {
  const filter = reader.filter()
  const members = reader.number()
  const storedMembers = reader.number()
  const flags = reader.flags(isFullFlag | 15)
  const [qos, storedQoS] = [readQoS(flags & 3), readQoS((flags >> storedQoSShift) & 3)]
  return { filter, members, storedMembers, storedQoS, qos, isFull: (flags & isFullFlag) !== 0 }
}

function readQoS(value: number): QoS {
  if (value > 2) throw new LinkDecodeError(`${value} is not a QoS`)
  return value as QoS
}

/** Counts of a local shard that has left are omitted. */
function writeCounts(fields: FieldWriter, names: PeerNames, counts: readonly PeerCount[]): void {
  const named = counts.flatMap(({ peer, count }) => {
    const name = names.get(peer)
    return name === undefined ? [] : { name, count }
  })
  fields.putList(named, ({ name, count }) => fields.putPeer(name).putNumber(count))
}

/** Counts of a local shard that this shard does not know are omitted: it has left, because it sends nothing before it has joined everywhere. */
function readCounts(reader: LinkBufferReader, names: PeerNames): PeerCount[] {
  const counts: PeerCount[] = []
  reader.list(minCountBytes, () => {
    const peer = names.find(reader.peer())
    const count = reader.number()
    if (peer !== undefined) counts.push({ peer, count })
  })
  return counts
}

function writeRetainedResponse({ writer, fields, publishes }: PeerMessageWriter, found: RetainedResponse): void {
  const { requestId, isEnd, messages } = found
  fields
    .putNumber(requestId)
    .putUint8(isEnd ? 1 : 0)
    .putNumber(messages.length)
    .writeRecord(writer, recordKinds.retainedResponse)
  for (const message of messages) {
    publishes.writeMessage(recordKinds.retainedMessage, message, { flags: 0, details: undefined })
  }
}

/** A response with retained messages that is not complete yet: its messages arrive as one record each. */
export class PartialRetainedResponse {
  readonly #requestId: number
  readonly #isEnd: boolean
  readonly #count: number
  readonly #messages: Message[] = []

  constructor(reader: LinkBufferReader) {
    this.#requestId = reader.number()
    this.#isEnd = reader.flags(1) === 1
    this.#count = reader.number(maxRetainedMessages)
    reader.expectEnd()
  }

  get isComplete(): boolean {
    return this.#messages.length === this.#count
  }

  add(message: Message): void {
    this.#messages.push(message)
  }

  read(): RetainedResponse {
    return { kind: 'retained-response', requestId: this.#requestId, messages: this.#messages, isEnd: this.#isEnd }
  }
}
