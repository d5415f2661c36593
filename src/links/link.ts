// A link: all messages between two shards, in order. Messages of one turn are collected in a link buffer, which is sent at
// the end of the turn. Received records are handled one by one, so that the shard can stop in between.
//
//   send, relay --> PublishWriter --(end of the turn)--> port ~~> port --> inbox --readNext--> shard
//                        <-------------------- credit n ----------------------'
//
// Nothing is refused or lost while both shards run. If the peer has more than `congestedFromBytes` of unhandled data, the link
// is congested: the shard pauses reading from clients until half of it is handled.

import type { Message, PeerSender, PeerMessage, PeerNumber } from '../core/index.ts'
import { assert, failedAssertion, type TopicTable } from '../protocol/index.ts'
import type { ByteStream, GatewayClientTraits } from '../transports/index.ts'
import type { LinkPort } from './link-port.ts'
import {
  PartialRetainedResponse,
  readClone,
  readCommitted,
  readPeerMessage,
  writeClone,
  writePeerMessage,
} from './peer-message-records.ts'
import { LinkBufferReader } from './link-buffer-reader.ts'
import { LinkBufferWriter, writeUint32 } from './link-buffer-writer.ts'
import { PublishReader } from './publish-reader.ts'
import { PublishWriter } from './publish-writer.ts'
import { recordKinds } from './record-kinds.ts'
import { RelayAcceptor, type RelayAcceptorLink } from './relay-acceptor.ts'
import { copyTraits, RelayedStream, type RelayedStreamLink, type RelayOrigin } from './relayed-stream.ts'

/** Bytes that were sent to a peer and that it has not handled. Beyond this number, the link is congested. */
export const congestedFromBytes = 4_194_304
const relievedAtBytes = congestedFromBytes / 2
/** Number of handled bytes after which they are reported to the peer as credit. */
const minCreditBytes = congestedFromBytes / 8

const uint32Bytes = 4
const idBytes = 4

export interface LinkDependencies {
  readonly topics: TopicTable
  notePeerMessage(link: Link, message: PeerMessage): void
  /** A plain message (`PeerSender.sendPlain`), in either encoding. */
  notePlainMessage(link: Link, message: Message): void
  /** Called for a client whose socket the peer has. The data that it has sent so far follows with the next `readNext`. */
  noteRelayed(link: Link, stream: RelayedStream, origin: RelayOrigin): void
  noteCongested(link: Link, isCongested: boolean): void
  /** Called when records were received: call `readNext` until it returns false. */
  noteInput(link: Link): void
  /** Called when data waits for `flush`, once until `flush`. */
  noteDirty(link: Link): void
  /** Called when the peer stops: it sends nothing more, except for relays. */
  noteFinalNotice(link: Link): void
  /** Called when the peer has ended, all its records are handled, and its relays have ended. This is the last call of the link. */
  noteClosed(link: Link): void
}

export class Link implements PeerSender, RelayedStreamLink, RelayAcceptorLink {
  readonly peer: PeerNumber
  isCongested = false
  /** Chunks between sockets of this shard and sessions of the peer, in both directions. */
  relayedChunks = 0
  readonly #port: LinkPort
  readonly #dependencies: LinkDependencies
  readonly #writer: LinkBufferWriter
  readonly #publishWriter: PublishWriter
  readonly #reader = new LinkBufferReader()
  readonly #publishReader: PublishReader
  #isDirty = false
  /** Received link buffers; `#inboxRead` of them have been opened. */
  #inbox: ArrayBuffer[] = []
  #inboxRead = 0
  #retainedResponse: PartialRetainedResponse | undefined
  #isInRun = false
  #portIsClosed = false
  #isClosed = false
  /** Number of sent bytes that the peer has handled. */
  #confirmedBytes = 0
  /** Received bytes that are handled and not reported yet. */
  #uncreditedBytes = 0
  #lastRelay = 0
  /** Sockets of this shard whose sessions the peer has, by a number of this shard. */
  readonly #relayedSockets = new Map<number, RelayAcceptor>()
  #waitingForSpace: RelayAcceptor[] = []
  /** Sessions of this shard whose sockets the peer has, by a number of the peer. */
  readonly #streams = new Map<number, RelayedStream>()

  constructor(peer: PeerNumber, port: LinkPort, dependencies: LinkDependencies) {
    this.peer = peer
    this.#port = port
    this.#dependencies = dependencies
    this.#writer = new LinkBufferWriter((buffer) => port.send(buffer))
    this.#publishWriter = new PublishWriter(this.#writer)
    this.#publishReader = new PublishReader(this.#reader, dependencies.topics)
    port.onBuffer = (buffer) => {
      this.#inbox.push(buffer)
      dependencies.noteInput(this)
    }
    port.onClose = () => {
      this.#portIsClosed = true
      dependencies.noteInput(this)
    }
  }

  /** Number of sockets of this shard that are relayed to the peer. */
  get relayedSockets(): number {
    return this.#relayedSockets.size
  }

  /** Adds a message to the link buffer. Payloads are copied at the latest by `flush` and must not change before. */
  send(message: PeerMessage): void {
    this.#markDirty()
    if (message.kind === 'publish') return this.#publishWriter.publish(message)
    this.#publishWriter.endRun()
    writePeerMessage(this.#writer, this.#publishWriter, message)
  }

  /** Does the same as `send` with the result of `plainPublish`. */
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

  /** Relays a connection to the peer from now on. `received`: data that its client has sent already. */
  relay(stream: ByteStream, listener: number, received: readonly Buffer[]): void {
    const relay = (this.#lastRelay = (this.#lastRelay + 1) >>> 0)
    const { remoteAddress, remotePort, credentials } = stream
    const gatewayClient = stream.gatewayClient === undefined ? undefined : copyTraits(stream.gatewayClient)
    const origin: RelayOrigin = { listener, remoteAddress, remotePort, credentials, gatewayClient }
    this.#beginRecord()
    writeClone(this.#writer, recordKinds.relayOpen, { relay, origin })
    const receivedBytes = received.reduce((sum, chunk) => sum + chunk.length, 0)
    this.#relayedSockets.set(relay, new RelayAcceptor(this, relay, stream, receivedBytes))
    for (const chunk of received) this.#writeBytes(recordKinds.relayData, relay, chunk)
  }

  /** Sends everything since the last call. */
  flush(): void {
    if (!this.#isDirty) return
    this.#isDirty = false
    this.#publishWriter.endRun()
    this.#writer.flush()
    this.#updateCongestion()
  }

  /** Handles one received message or record of a relay. Returns false if there is none. */
  readNext(): boolean {
    if (this.#isClosed) return false
    if (this.#isInRun) return this.#readFromRun()
    if (this.#reader.isAtEnd && !this.#openNext()) return false
    const kind = this.#reader.begin()
    this.#read(kind)
    // For a socket that is closed, only the number of the relay was read.
    if (!this.#isInRun) this.#reader.endRecord()
    return true
  }

  /** Notifies the peer that this shard sends nothing more, except for relays. */
  sendFinalNotice(): void {
    this.#beginRecord()
    this.#writer.begin(recordKinds.shutdown, 0)
    this.#writer.end()
  }

  /** Closes the link as if the peer had failed. Sent data still reaches it. */
  close(): void {
    this.flush()
    this.#port.close()
  }

  // Relays on the shard with the socket.

  relayData(relay: number, chunk: Buffer): boolean {
    this.relayedChunks++
    this.#beginRecord()
    this.#writeBytes(recordKinds.relayData, relay, chunk)
    return !this.isCongested
  }

  relaySent(relay: number, bytes: number): void {
    if (this.#relayedSockets.has(relay)) this.#writeNumbers(recordKinds.relaySent, relay, bytes)
  }

  relayClosed(relay: number, error: Error | undefined): void {
    if (!this.#relayedSockets.delete(relay) || this.#isClosed) return
    this.#beginRecord()
    writeClone(this.#writer, recordKinds.relayClosed, { relay, error: error?.message })
  }

  relayPeerEnd(relay: number): void {
    if (this.#relayedSockets.has(relay) && !this.#isClosed) this.#writeNumber(recordKinds.relayPeerEnd, relay)
  }

  relayDrained(relay: number): void {
    if (this.#relayedSockets.has(relay) && !this.#isClosed) this.#writeNumber(recordKinds.relayDrained, relay)
  }

  relayedClientChanged(relay: number, gatewayClient: GatewayClientTraits): void {
    if (!this.#relayedSockets.has(relay) || this.#isClosed) return
    this.#beginRecord()
    writeClone(this.#writer, recordKinds.relayedClient, { relay, gatewayClient: copyTraits(gatewayClient) })
  }

  waitForSpace(acceptor: RelayAcceptor): void {
    this.#waitingForSpace.push(acceptor)
  }

  // Relays on the shard with the session.

  relayWrite(relay: number, bytes: Buffer): void {
    this.#beginRecord()
    this.#writeBytes(recordKinds.relayWrite, relay, bytes)
  }

  relayCredit(relay: number, bytes: number): void {
    this.#writeNumbers(recordKinds.relayCredit, relay, bytes)
  }

  relayEnd(relay: number): void {
    this.#writeNumber(recordKinds.relayEnd, relay)
  }

  relayDestroy(relay: number): void {
    this.#writeNumber(recordKinds.relayDestroy, relay)
  }

  relayDrain(relay: number): void {
    this.#writeNumber(recordKinds.relayDrain, relay)
  }

  #read(kind: number): void {
    switch (kind) {
      case recordKinds.publishRun:
        this.#publishReader.beginRun()
        this.#isInRun = true
        return void this.#readFromRun()
      case recordKinds.publishSingle:
        return this.#dependencies.notePeerMessage(this, this.#publishReader.single())
      case recordKinds.committed:
        return this.#dependencies.notePeerMessage(this, readCommitted(this.#reader))
      case recordKinds.clone:
        return this.#dependencies.notePeerMessage(this, readPeerMessage(this.#reader))
      case recordKinds.retainedResponse:
        this.#retainedResponse = new PartialRetainedResponse(this.#reader)
        return this.#reportIfComplete(this.#retainedResponse)
      case recordKinds.retainedMessage:
        assert(this.#retainedResponse !== undefined, 'a retained message was received that belongs to no response')
        this.#retainedResponse.add(this.#publishReader.message().message)
        return this.#reportIfComplete(this.#retainedResponse)
      case recordKinds.credit:
        this.#confirmedBytes += this.#reader.uint32()
        return this.#updateCongestion()
      case recordKinds.shutdown:
        return this.#dependencies.noteFinalNotice(this)
      default:
        return this.#readRelay(kind)
    }
  }

  #readRelay(kind: number): void {
    const reader = this.#reader
    switch (kind) {
      case recordKinds.relayOpen:
        return this.#openRelayed(readClone(reader) as { relay: number; origin: RelayOrigin })
      case recordKinds.relayClosed:
        return this.#closeRelayed(readClone(reader) as { relay: number; error: string | undefined })
      case recordKinds.relayedClient:
        return this.#changeRelayed(readClone(reader) as { relay: number; gatewayClient: GatewayClientTraits })
      case recordKinds.relayData:
        return this.#streamOf(reader.uint32()).receive(reader.rest())
      case recordKinds.relaySent:
        return this.#streamOf(reader.uint32()).noteSent(reader.uint32())
      case recordKinds.relayPeerEnd:
        return this.#streamOf(reader.uint32()).notePeerEnd()
      case recordKinds.relayDrained:
        return this.#streamOf(reader.uint32()).noteDrained()
      // The socket may be closed, if the peer has not received `relayClosed` yet.
      case recordKinds.relayWrite:
        this.relayedChunks++
        return this.#relayedSockets.get(reader.uint32())?.write(reader.rest())
      case recordKinds.relayCredit:
        return this.#relayedSockets.get(reader.uint32())?.addCredit(reader.uint32())
      case recordKinds.relayEnd:
        return this.#relayedSockets.get(reader.uint32())?.end()
      case recordKinds.relayDestroy:
        return this.#relayedSockets.get(reader.uint32())?.destroy()
      case recordKinds.relayDrain:
        return this.#relayedSockets.get(reader.uint32())?.drain()
      default:
        throw failedAssertion(`a record of unknown kind ${kind} was received from shard ${this.peer}`)
    }
  }

  #readFromRun(): boolean {
    const reader = this.#publishReader
    const message = reader.next()
    if (this.#reader.at === this.#reader.recordEnd) this.#isInRun = false
    if (reader.isPlain) this.#dependencies.notePlainMessage(this, message)
    else this.#dependencies.notePeerMessage(this, reader.asPublish(message))
    return true
  }

  #reportIfComplete(found: PartialRetainedResponse): void {
    if (!found.isComplete) return
    this.#retainedResponse = undefined
    this.#dependencies.notePeerMessage(this, found.read())
  }

  #streamOf(relay: number): RelayedStream {
    const stream = this.#streams.get(relay)
    if (stream === undefined) throw failedAssertion(`shard ${this.peer} relays no connection ${relay}`)
    return stream
  }

  #openRelayed({ relay, origin }: { relay: number; origin: RelayOrigin }): void {
    const stream = new RelayedStream(this, relay, origin)
    this.#streams.set(relay, stream)
    this.#dependencies.noteRelayed(this, stream, origin)
  }

  #changeRelayed({ relay, gatewayClient }: { relay: number; gatewayClient: GatewayClientTraits }): void {
    this.#streamOf(relay).noteGatewayClient(gatewayClient)
  }

  #closeRelayed({ relay, error }: { relay: number; error: string | undefined }): void {
    const stream = this.#streamOf(relay)
    this.#streams.delete(relay)
    stream.noteClosed(error === undefined ? undefined : new Error(error))
  }

  /** Returns false if there is no link buffer to open. */
  #openNext(): boolean {
    const reader = this.#reader
    if (reader.bufferBytes > 0) {
      this.#addCredit(reader.bufferBytes)
      reader.close()
    }
    if (this.#inboxRead === this.#inbox.length) {
      this.#inbox = []
      this.#inboxRead = 0
      if (this.#portIsClosed) this.#finish()
      return false
    }
    reader.open(this.#inbox[this.#inboxRead])
    // Link buffers are released at once, not with the last one of the inbox.
    this.#inbox[this.#inboxRead++] = emptyBuffer
    return !reader.isAtEnd || this.#openNext()
  }

  #addCredit(bytes: number): void {
    this.#uncreditedBytes += bytes
    if (this.#uncreditedBytes < minCreditBytes) return
    this.#writeNumber(recordKinds.credit, this.#uncreditedBytes)
    this.#uncreditedBytes = 0
  }

  #updateCongestion(): void {
    const waitingBytes = this.#writer.sentBytes - this.#confirmedBytes
    if (this.isCongested ? waitingBytes > relievedAtBytes : waitingBytes <= congestedFromBytes) return
    this.isCongested = !this.isCongested
    if (!this.isCongested) for (const acceptor of this.#waitingForSpace.splice(0)) acceptor.resume()
    this.#dependencies.noteCongested(this, this.isCongested)
  }

  /** Ends all relays: closes local sockets of remote sessions, and streams of local sessions. */
  #finish(): void {
    this.#isClosed = true
    this.#waitingForSpace = []
    const relayedSockets = [...this.#relayedSockets.values()]
    const streams = [...this.#streams.values()]
    this.#relayedSockets.clear()
    this.#streams.clear()
    for (const acceptor of relayedSockets) acceptor.destroy()
    const error = new Error(`shard ${this.peer}, which has the socket, failed`)
    for (const stream of streams) stream.noteClosed(error)
    this.#dependencies.noteClosed(this)
  }

  #markDirty(): void {
    if (this.#isDirty) return
    this.#isDirty = true
    this.#dependencies.noteDirty(this)
  }

  #beginRecord(): void {
    this.#markDirty()
    this.#publishWriter.endRun()
  }

  #writeNumber(kind: number, value: number): void {
    this.#beginRecord()
    const target = this.#writer.begin(kind, uint32Bytes)
    this.#putUint32(target, value)
    this.#writer.end()
  }

  #writeNumbers(kind: number, relay: number, bytes: number): void {
    this.#beginRecord()
    const target = this.#writer.begin(kind, idBytes + uint32Bytes)
    this.#putUint32(target, relay)
    this.#putUint32(target, bytes)
    this.#writer.end()
  }

  #writeBytes(kind: number, relay: number, bytes: Buffer): void {
    const target = this.#writer.begin(kind, idBytes + bytes.length)
    this.#putUint32(target, relay)
    bytes.copy(target, this.#writer.at)
    this.#writer.at += bytes.length
    this.#writer.end()
  }

  #putUint32(target: Buffer, value: number): void {
    writeUint32(target, this.#writer.at, value)
    this.#writer.at += uint32Bytes
  }
}

const emptyBuffer = new ArrayBuffer(0)
