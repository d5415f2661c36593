// Writes messages into a link buffer. The frame of the publisher is copied unchanged, so that the receiver can forward it
// unchanged. Adjacent frames of one chunk of the publisher that go to the same peer are a *run*: they have one header and
// one copy.
//
//   run:    | flags | publisher, time | frame | frame | frame | ...
//   single: | flags | publisher, time | more flags | expiry? | more? | frame |
//
// Publisher and time are written only if they differ from those of the previous record.

import { isAllFrame, never, type Message, type PeerPublish } from '../core/index.ts'
import { measurePublish, writePublish, type PublishFields } from '../protocol/index.ts'
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

/** Flags of a plain message, see `PeerSender`, and whether it has properties. */
export const plainFlags = publishFlags.isForSubscribers

/** Flags of a single message. `more`: see `MessageDetails`. */
export const singleFlags = { hasExpiry: 1, hasMore: 2 } as const

/** Details that few publications have. */
export type PublishDetails = Pick<PeerPublish, 'groups' | 'tried' | 'exactlyOnce' | 'isRepeat'>

/** Details in a record of their own, as JSON. */
export interface MessageDetails extends Partial<PublishDetails> {
  readonly publisherUsername: string | undefined
  readonly isByOwnRight: boolean
  readonly publisherMountpoint: string
}

/** Maximum size of a run, so that link buffers are filled. */
const longestRunBytes = linkBufferBytes / 2
const noBytes = Buffer.alloc(0)
/** Placeholder for the number of the receiver's connection, which is written in its place. */
const anyPacketId = 1

export class PublishWriter {
  readonly #writer: LinkBufferWriter
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

  constructor(writer: LinkBufferWriter) {
    this.#writer = writer
  }

  /** The bytes of the message must not be reused before `endRun`. */
  publish(publish: PeerPublish): void {
    const { message } = publish
    const isCommon = publish.groups === undefined && publish.isRepeat !== true && publish.exactlyOnce === undefined
    if (isCommon && isAllFrame(message)) this.#addToRun(message, flagsOf(publish))
    else this.#publishAlone(publish)
  }

  /** The same as `publish` with the result of `plainPublish`. */
  sendPlain(message: Message): void {
    this.endRun()
    this.message(recordKinds.publishAlone, message, { flags: plainFlags, more: undefined })
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

  /** Writes the flags of the run as those of a message. */
  get publisher(): string {
    return this.#publisher
  }

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
      message.frameEnd - this.#start <= longestRunBytes
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

  #publishAlone(publish: PeerPublish): void {
    this.endRun()
    const { exactlyOnce, groups, tried, isRepeat } = publish
    const isCommon = exactlyOnce === undefined && groups === undefined && isRepeat !== true
    const more = isCommon ? undefined : { exactlyOnce, groups, tried, isRepeat }
    this.message(recordKinds.publishAlone, publish.message, { flags: flagsOf(publish), more })
  }

  /** Writes one message as a record of its own. Call `endRun` first. */
  message(kind: number, message: Message, how: { flags: number; more: PublishDetails | undefined }): void {
    const { flags } = how
    const more = moreText(message, how.more)
    const isFrame = message.frameShape !== 0
    const fields = isFrame ? undefined : fieldsOf(message)
    const frameBytes = fields === undefined ? message.frameEnd - message.frameStart : measurePublish(fields, 5)
    const moreBytes = more === undefined ? 0 : 4 + Buffer.byteLength(more)
    const hasExpiry = message.expiresAtMs !== never
    const allFlags = flags | (message.frameShape === 4 ? 0 : publishFlags.hasProperties)
    const target = this.#beginWithSource(kind, allFlags, message, 1 + 8 + moreBytes + frameBytes)
    const writer = this.#writer
    target[writer.at++] = (hasExpiry ? singleFlags.hasExpiry : 0) | (more === undefined ? 0 : singleFlags.hasMore)
    if (hasExpiry) writer.at = target.writeDoubleLE(message.expiresAtMs, writer.at)
    if (more !== undefined) writer.at = writeText(target, writer.at, more)
    if (fields === undefined) message.chunk.copy(target, writer.at, message.frameStart, message.frameEnd)
    else writePublish(fields, 5, target, writer.at)
    writer.at += frameBytes
    writer.end()
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

function moreText(message: Message, more: PublishDetails | undefined): string | undefined {
  const { publisherUsername, isByOwnRight, publisherMountpoint } = message
  const isPlain = publisherUsername === undefined && !isByOwnRight && publisherMountpoint === ''
  if (more === undefined && isPlain) return undefined
  const text: MessageDetails = { ...more, publisherUsername, isByOwnRight, publisherMountpoint }
  return JSON.stringify(text)
}

function flagsOf({ hasSubscribers, isRetained, isAwaited }: PeerPublish): number {
  return (
    (hasSubscribers ? publishFlags.isForSubscribers : 0) |
    (isRetained ? publishFlags.isToBeRetained : 0) |
    (isAwaited ? publishFlags.isAwaited : 0)
  )
}

/** A message without a frame is encoded as MQTT 5.0, which has all properties. */
function fieldsOf(message: Message): PublishFields {
  return {
    topic: message.topic,
    topicIsOmitted: false,
    topicAlias: 0,
    qos: message.qos,
    retain: message.retain,
    dup: false,
    packetId: anyPacketId,
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
