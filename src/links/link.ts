// A link: all messages between two shards, in order. Messages of one turn are collected in a link buffer, which is sent at
// the end of the turn. Received records are handled one by one, so that the shard can stop in between.
//
//   send, relay --> PublishWriter --(end of the turn)--> port ~~> port --> inbox --readNext--> shard
//                        <-------------------- credit n ----------------------'
//
// Nothing is refused or lost while both shards run. If the peer has more than `congestedFromBytes` of unhandled data, the link
// is congested: the shard pauses reading from clients until half of it is handled.
//
// The first record in each direction is the level of the encoding (record-kinds.ts). Bytes that this version cannot read end the link, as if the
// peer had failed, and `onClosed` says why.

import type { Message, PeerSender, PeerMessage, PeerNames, PeerNumber } from '../core/index.ts'
import type { TopicTable } from '../protocol/index.ts'
import type { ByteStream } from '../transports/index.ts'
import type { LinkPort } from './link-port.ts'
import { FieldWriter } from './field-writer.ts'
import { LinkDecodeError } from './link-decode-error.ts'
import {
  PartialRetainedResponse,
  type PeerMessageWriter,
  readPeerMessage,
  writePeerMessage,
} from './peer-message-records.ts'
import { LinkBufferReader } from './link-buffer-reader.ts'
import { LinkBufferWriter } from './link-buffer-writer.ts'
import { LinkRecordWriter } from './link-record-writer.ts'
import { LinkRelays } from './link-relays.ts'
import { PublishReader } from './publish-reader.ts'
import { PublishWriter } from './publish-writer.ts'
import { encodingLevel, oldestReadableLevel, recordKinds } from './record-kinds.ts'
import type { RelayedStream, RelayOrigin, RemoteListener } from './relayed-stream.ts'

/** Bytes that were sent to a peer and that it has not handled. Beyond this number, the link is congested. */
export const congestedFromBytes = 4_194_304
const relievedAtBytes = congestedFromBytes / 2
/** Number of handled bytes after which they are reported to the peer as credit. */
const minCreditBytes = congestedFromBytes / 8

export interface LinkDependencies {
  readonly topics: TopicTable
  /** Names of the shards that this shard knows by number. */
  readonly names: PeerNames
  onPeerMessage(link: Link, message: PeerMessage): void
  /** A plain message (`PeerSender.sendPlain`), in either encoding. */
  onPlainMessage(link: Link, message: Message): void
  /** Called for a client whose socket the peer has. The data that it has sent so far follows with the next `readNext`. */
  onRelayedConnection(link: Link, stream: RelayedStream, origin: RelayOrigin): void
  onCongestionChange(link: Link, isCongested: boolean): void
  /** Called when records were received: call `readNext` until it returns false. */
  onInput(link: Link): void
  /** Called when data waits for `flush`, once until `flush`. */
  onFlushNeeded(link: Link): void
  /** Called when the peer stops: it sends nothing more, except for relays. */
  onFinalNotice(link: Link): void
  /**
   * Called when the peer has ended, all its records are handled, and its relays have ended. This is the last call of the link. `error`: the peer
   * has not ended, but sent bytes that cannot be read; undefined: it has ended.
   */
  onClosed(link: Link, error: LinkDecodeError | undefined): void
}

export class Link implements PeerSender {
  readonly peer: PeerNumber
  isCongested = false
  readonly #port: LinkPort
  readonly #dependencies: LinkDependencies
  readonly #writer: LinkBufferWriter
  readonly #publishWriter: PublishWriter
  readonly #messages: PeerMessageWriter
  readonly #records: LinkRecordWriter
  readonly #relays: LinkRelays
  readonly #reader = new LinkBufferReader()
  readonly #publishReader: PublishReader
  #isDirty = false
  /** The encoding level was written, or read. */
  #hasWrittenLevel = false
  #hasReadLevel = false
  /** Received link buffers; `#inboxRead` of them have been opened. */
  #inbox: ArrayBuffer[] = []
  #inboxRead = 0
  #retainedResponse: PartialRetainedResponse | undefined
  #isInRun = false
  #portIsClosed = false
  /** The way to the peer takes no more for now. */
  #isFull = false
  #isClosed = false
  /** Number of sent bytes that the peer has handled. */
  #confirmedBytes = 0
  /** Received bytes that are handled and not reported yet. */
  #uncreditedBytes = 0

  constructor(peer: PeerNumber, port: LinkPort, dependencies: LinkDependencies) {
    this.peer = peer
    this.#port = port
    this.#dependencies = dependencies
    this.#writer = new LinkBufferWriter((buffer) => port.send(buffer))
    const { names, topics } = dependencies
    this.#publishWriter = new PublishWriter(this.#writer, names)
    this.#publishReader = new PublishReader(this.#reader, topics, names)
    const target = { writer: this.#writer, publishes: this.#publishWriter, fields: new FieldWriter(), names }
    this.#messages = target
    this.#records = new LinkRecordWriter(target, () => this.#markDirty())
    this.#relays = new LinkRelays({
      peer,
      records: this.#records,
      isCongested: () => this.isCongested,
      noteRelayed: (stream, origin) => dependencies.onRelayedConnection(this, stream, origin),
    })
    port.onBuffer = (buffer) => {
      this.#inbox.push(buffer)
      dependencies.onInput(this)
    }
    port.onFullChange = (isFull) => {
      this.#isFull = isFull
      this.#updateCongestion()
    }
    port.onClose = () => {
      this.#portIsClosed = true
      dependencies.onInput(this)
    }
  }

  /** Number of sockets of this shard that are relayed to the peer. */
  get relayedSockets(): number {
    return this.#relays.sockets
  }

  /** Chunks between sockets of this shard and sessions of the peer, in both directions. */
  get relayedChunks(): number {
    return this.#relays.chunks
  }

  /** Adds a message to the link buffer. Payloads are copied at the latest by `flush` and must not change before. */
  send(message: PeerMessage): void {
    this.#markDirty()
    if (message.kind === 'publish') return this.#publishWriter.publish(message)
    this.#publishWriter.endRun()
    writePeerMessage(this.#messages, message)
  }

  /** Does the same as `send` with the result of `createPlainPublish`. */
  sendPlain(message: Message): void {
    this.#markDirty()
    this.#publishWriter.sendPlain(message)
  }

  /** See `PeerSender`. */
  sendRun(first: Message, end: number): void {
    this.#markDirty()
    this.#publishWriter.sendRun(first, end)
  }

  /** Copies the payloads of all messages so far, so that their chunks can be reused. Does not send them. */
  settle(): void {
    this.#publishWriter.endRun()
  }

  /** See `LinkRelays.open`. */
  relay(stream: ByteStream, listener: number | RemoteListener, received: readonly Buffer[]): void {
    this.#relays.open(stream, listener, received)
  }

  /** Sends everything since the last call. */
  flush(): void {
    if (!this.#isDirty) return
    this.#isDirty = false
    this.#publishWriter.endRun()
    this.#writer.flush()
    this.#updateCongestion()
  }

  /** Handles one received message or record of a relay. Returns false if there is none, or if the link has ended. */
  readNext(): boolean {
    if (this.#isClosed) return false
    try {
      return this.#readRecord()
    } catch (error) {
      // Errors of the shard while it handles a message are not caught here: they end the shard.
      if (!(error instanceof LinkDecodeError)) throw error
      this.#fail(error)
      return false
    }
  }

  #readRecord(): boolean {
    if (this.#isInRun) return this.#readFromRun()
    if (this.#reader.isAtEnd && !this.#openNext()) return false
    const kind = this.#reader.begin()
    this.#read(kind)
    // For a relay whose socket is closed, only its number was read.
    if (!this.#isInRun) this.#reader.endRecord()
    return true
  }

  /** Notifies the peer that this shard sends nothing more, except for relays. */
  sendFinalNotice(): void {
    this.#records.writeEmpty(recordKinds.shutdown)
  }

  /** Closes the link as if the peer had failed. Sent data still reaches it. */
  close(): void {
    this.flush()
    this.#port.close()
  }

  #read(kind: number): void {
    if (!this.#hasReadLevel) return this.#readLevel(kind)
    switch (kind) {
      case recordKinds.publishRun:
        this.#publishReader.beginRun()
        this.#isInRun = true
        return void this.#readFromRun()
      case recordKinds.publishSingle:
        return this.#dependencies.onPeerMessage(this, this.#publishReader.readSingle())
      case recordKinds.retainedResponse:
        if (this.#retainedResponse !== undefined)
          throw new LinkDecodeError('a response begins before the end of another one')
        this.#retainedResponse = new PartialRetainedResponse(this.#reader)
        return this.#reportIfComplete(this.#retainedResponse)
      case recordKinds.retainedMessage:
        if (this.#retainedResponse === undefined) throw new LinkDecodeError('a retained message belongs to no response')
        this.#retainedResponse.add(this.#publishReader.readMessage().message)
        return this.#reportIfComplete(this.#retainedResponse)
      case recordKinds.credit:
        this.#confirmedBytes += this.#reader.uint32()
        return this.#updateCongestion()
      case recordKinds.shutdown:
        return this.#dependencies.onFinalNotice(this)
      default:
        return this.#readOther(kind)
    }
  }

  #readOther(kind: number): void {
    const message = readPeerMessage(this.#reader, this.#dependencies.names, kind)
    if (message === undefined) this.#relays.read(kind, this.#reader)
    else this.#dependencies.onPeerMessage(this, message)
  }

  /** Reads the first record. */
  #readLevel(kind: number): void {
    if (kind !== recordKinds.opening) throw new LinkDecodeError(`the first record has the kind ${kind}`)
    const level = this.#reader.uint8()
    if (level < oldestReadableLevel || level > encodingLevel)
      throw new LinkDecodeError(
        `the peer uses encoding level ${level}; this version reads ${oldestReadableLevel} to ${encodingLevel}`,
      )
    this.#hasReadLevel = true
  }

  #readFromRun(): boolean {
    const reader = this.#publishReader
    const message = reader.next()
    if (this.#reader.at === this.#reader.recordEnd) this.#isInRun = false
    if (reader.isPlain) this.#dependencies.onPlainMessage(this, message)
    else this.#dependencies.onPeerMessage(this, reader.toPublish(message))
    return true
  }

  #reportIfComplete(found: PartialRetainedResponse): void {
    if (!found.isComplete) return
    this.#retainedResponse = undefined
    this.#dependencies.onPeerMessage(this, found.read())
  }

  /** Opens the next link buffer with a record. Returns false if there is none. */
  #openNext(): boolean {
    const reader = this.#reader
    while (reader.isAtEnd) {
      if (reader.bufferBytes > 0) {
        this.#addCredit(reader.bufferBytes)
        reader.close()
      }
      if (this.#inboxRead === this.#inbox.length) {
        this.#inbox = []
        this.#inboxRead = 0
        if (this.#portIsClosed) this.#end(undefined)
        return false
      }
      const buffer = this.#inbox[this.#inboxRead]
      // Link buffers are released at once, not with the last one of the inbox.
      this.#inbox[this.#inboxRead++] = emptyBuffer
      reader.open(buffer)
    }
    return true
  }

  #addCredit(bytes: number): void {
    this.#uncreditedBytes += bytes
    if (this.#uncreditedBytes < minCreditBytes) return
    this.#records.writeNumber(recordKinds.credit, this.#uncreditedBytes)
    this.#uncreditedBytes = 0
  }

  #updateCongestion(): void {
    const waitingBytes = this.#writer.sentBytes - this.#confirmedBytes
    const maxBytes = this.isCongested ? relievedAtBytes : congestedFromBytes
    const isCongested = this.#isFull || waitingBytes > maxBytes
    if (isCongested === this.isCongested) return
    this.isCongested = isCongested
    if (!this.isCongested) this.#relays.resume()
    this.#dependencies.onCongestionChange(this, this.isCongested)
  }

  /** The peer sent bytes that cannot be read: ends the link for both. */
  #fail(error: LinkDecodeError): void {
    this.#port.onBuffer = ignore
    this.#port.onClose = ignore
    this.#port.close()
    this.#inbox = []
    this.#reader.close()
    this.#end(error)
  }

  #end(error: LinkDecodeError | undefined): void {
    this.#isClosed = true
    this.#relays.finish()
    this.#dependencies.onClosed(this, error)
  }

  #markDirty(): void {
    if (this.#isDirty) return
    this.#isDirty = true
    if (!this.#hasWrittenLevel) {
      this.#hasWrittenLevel = true
      const target = this.#writer.begin(recordKinds.opening, 1)
      target[this.#writer.at++] = encodingLevel
      this.#writer.end()
    }
    this.#dependencies.onFlushNeeded(this)
  }
}

const emptyBuffer = new ArrayBuffer(0)
const ignore = (): void => {}
