// Writes messages into a link buffer. The frame of the publisher is copied unchanged, so that the receiver can forward it
// unchanged. Adjacent frames of one chunk of the publisher that go to the same peer are a *run*: they have one header and
// one copy.
//
//   run:    | flags | publisher, time | frame | frame | frame | ...
//   single: | flags | publisher, time | single flags | expiry? | details? | frame |
//
// Publisher and time are written only if they differ from those of the previous record.

import { isAllFrame, never, type Message, type PeerNames, type PeerPublish } from '../core/index.ts'
import { measurePublish, writePublish, type PublishFields } from '../protocol/index.ts'
import { FieldWriter } from './field-writer.ts'
import { type PublishDetails, writeDetails } from './publish-details.ts'
import { recordKinds } from './record-kinds.ts'
import { linkBufferBytes, writeUint32, type LinkBufferWriter } from './link-buffer-writer.ts'

export const publishFlags = {
  isForSubscribers: 1,
  isToBeRetained: 2,
  isAwaited: 4,
  /** The frames have a property section: MQTT 5.0. */
  hasProperties: 8,
  sameSource: 16,
} as const

/** Flags of a plain message (see `PeerSender`); `hasProperties` is added if its frame is MQTT 5.0. */
export const plainFlags = publishFlags.isForSubscribers

/** Further flags of a single message. */
export const singleFlags = { hasExpiry: 1, hasDetails: 2 } as const

/** Maximum size of a run, so that link buffers are filled. */
const maxRunBytes = linkBufferBytes / 2
const noBytes = Buffer.alloc(0)
/** A frame with QoS 1 or 2 has a packet identifier. The receiver replaces it by one of the subscriber's connection. */
const placeholderPacketId = 1

export class PublishWriter {
  readonly #writer: LinkBufferWriter
  readonly #names: PeerNames
  /** Details of the message that is being written. */
  readonly #details = new FieldWriter()
  /** The open run: `#chunk[#start, #end)`; none if these are equal. */
  #chunk: Buffer = noBytes
  #start = 0
  #end = 0
  #flags = 0
  #publisher = ''
  #publishedAtMs = 0
  /** Publisher and time of the previous record. */
  #lastPublisher = ''
  #lastPublishedAtMs = 0

  constructor(writer: LinkBufferWriter, names: PeerNames) {
    this.#writer = writer
    this.#names = names
  }

  /** Writes a message of the core. Its bytes must not be reused before `endRun`. */
  publish(publish: PeerPublish): void {
    const { message } = publish
    if (hasNoDetails(publish) && isAllFrame(message)) this.#addToRun(message, encodeFlags(publish))
    else this.#publishSingle(publish)
  }

  /** Does the same as `publish` with the result of `createPlainPublish`. */
  sendPlain(message: Message): void {
    this.endRun()
    this.writeMessage(recordKinds.publishSingle, message, { flags: plainFlags, details: undefined })
  }

  /** See `PeerSender`. */
  sendRun(first: Message, end: number): void {
    this.#startRun(first, first.frameShape === 5 ? plainFlags | publishFlags.hasProperties : plainFlags)
    this.#end = end
  }

  /** Ends the open run. Called before any other record is written, and at the end. */
  endRun(): void {
    const bytes = this.#end - this.#start
    if (bytes === 0) return
    const target = this.#beginWithSource(recordKinds.publishRun, this.#flags, this, bytes)
    this.#chunk.copy(target, this.#writer.at, this.#start, this.#end)
    this.#writer.at += bytes
    this.#writer.end()
    this.#chunk = noBytes
    this.#start = 0
    this.#end = 0
  }

  /** Publisher of the open run: the writer is the `source` of `#beginWithSource`. */
  get publisher(): string {
    return this.#publisher
  }

  /** Time of the open run. */
  get publishedAtMs(): number {
    return this.#publishedAtMs
  }

  #addToRun(message: Message, flagsOfSend: number): void {
    const flags = message.frameShape === 5 ? flagsOfSend | publishFlags.hasProperties : flagsOfSend
    if (this.#continuesRun(message, flags)) this.#end = message.frameEnd
    else this.#startRun(message, flags)
  }

  #continuesRun(message: Message, flags: number): boolean {
    return (
      message.chunk === this.#chunk &&
      message.frameStart === this.#end &&
      flags === this.#flags &&
      message.publishedAtMs === this.#publishedAtMs &&
      message.publisher === this.#publisher &&
      message.frameEnd - this.#start <= maxRunBytes
    )
  }

  #startRun(message: Message, flags: number): void {
    this.endRun()
    this.#chunk = message.chunk
    this.#start = message.frameStart
    this.#end = message.frameEnd
    this.#flags = flags
    this.#publisher = message.publisher
    this.#publishedAtMs = message.publishedAtMs
  }

  #publishSingle(publish: PeerPublish): void {
    this.endRun()
    const { exactlyOnce, groups, tried, isRepeat, remaining } = publish
    const details = hasNoDetails(publish) ? undefined : { exactlyOnce, groups, tried, isRepeat, remaining }
    this.writeMessage(recordKinds.publishSingle, publish.message, { flags: encodeFlags(publish), details })
  }

  /** Writes one message as a record. Call `endRun` first. */
  writeMessage(
    kind: number,
    message: Message,
    { flags, details }: { flags: number; details: PublishDetails | undefined },
  ): void {
    const hasDetails = this.#collectDetails(message, details)
    const isFrame = message.frameShape !== 0
    const fields = isFrame ? undefined : toPublishFields(message)
    const frameBytes = fields === undefined ? message.frameEnd - message.frameStart : measurePublish(fields, 5)
    const hasExpiry = message.expiresAtMs !== never
    const allFlags = flags | (message.frameShape === 4 ? 0 : publishFlags.hasProperties)
    const target = this.#beginWithSource(kind, allFlags, message, 1 + 8 + this.#details.length + frameBytes)
    const writer = this.#writer
    target[writer.at++] = (hasExpiry ? singleFlags.hasExpiry : 0) | (hasDetails ? singleFlags.hasDetails : 0)
    if (hasExpiry) writer.at = target.writeDoubleLE(message.expiresAtMs, writer.at)
    if (hasDetails) this.#details.moveTo(writer, target)
    if (fields === undefined) message.chunk.copy(target, writer.at, message.frameStart, message.frameEnd)
    else writePublish(fields, 5, target, writer.at)
    writer.at += frameBytes
    writer.end()
  }

  /** Returns false if the message has no details. */
  #collectDetails(message: Message, details: PublishDetails | undefined): boolean {
    const { publisherUsername, isByOwnRight, publisherMountpoint } = message
    if (details === undefined && publisherUsername === undefined && !isByOwnRight && publisherMountpoint === '')
      return false
    writeDetails(this.#details, this.#names, { ...details, publisherUsername, isByOwnRight, publisherMountpoint })
    return true
  }

  #beginWithSource(
    kind: number,
    flags: number,
    source: { readonly publisher: string; readonly publishedAtMs: number },
    bytes: number,
  ): Buffer {
    const { publisher, publishedAtMs } = source
    const writer = this.#writer
    // UTF-8 needs at most three bytes for each code unit.
    const target = writer.begin(kind, 1 + 4 + 3 * publisher.length + 8 + bytes)
    const isSame = publisher === this.#lastPublisher && publishedAtMs === this.#lastPublishedAtMs
    target[writer.at++] = isSame ? flags | publishFlags.sameSource : flags
    if (isSame) return target
    this.#lastPublisher = publisher
    this.#lastPublishedAtMs = publishedAtMs
    writer.at = writeText(target, writer.at, publisher)
    writer.at = target.writeDoubleLE(publishedAtMs, writer.at)
    return target
  }
}

function hasNoDetails({ groups, isRepeat, exactlyOnce, remaining }: PeerPublish): boolean {
  return groups === undefined && isRepeat !== true && exactlyOnce === undefined && remaining === undefined
}

function encodeFlags({ hasSubscribers, isRetained, isAwaited }: PeerPublish): number {
  return (
    (hasSubscribers ? publishFlags.isForSubscribers : 0) |
    (isRetained ? publishFlags.isToBeRetained : 0) |
    (isAwaited ? publishFlags.isAwaited : 0)
  )
}

/** Returns the fields of a message without a frame. It is encoded as MQTT 5.0, which has all properties. */
function toPublishFields(message: Message): PublishFields {
  return {
    topic: message.topic,
    topicIsOmitted: false,
    topicAlias: 0,
    qos: message.qos,
    retain: message.retain,
    dup: false,
    packetId: placeholderPacketId,
    properties: message.properties,
    messageExpiryIntervalSeconds: undefined,
    subscriptionIdentifiers: undefined,
    chunk: message.chunk,
    payloadStart: message.payloadStart,
    payloadEnd: message.frameEnd,
  }
}

/** Writes four bytes of length, then UTF-8; returns the offset after it. */
function writeText(target: Buffer, at: number, text: string): number {
  const bytes = target.write(text, at + 4)
  writeUint32(target, at, bytes)
  return at + 4 + bytes
}
