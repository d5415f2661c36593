// Reads an action queue, which is a persistent session of this broker, as an MQTT client over a stream within the process.
// Unacknowledged entries are delivered again on the next connection.

import {
  measurePacket,
  PacketDecoder,
  ProtocolError,
  TopicTable,
  writeAck,
  writePacket,
  type ControlPacket,
  type Packet,
  type PacketId,
  type PublishPacket,
  type UserProperties,
} from '../protocol/index.ts'
import type { ByteStream } from '../transports/index.ts'
import type { ActionEntry } from './sink.ts'
import { hasResult, splitResult } from './stored-result.ts'

/** An entry, and what its acknowledgement needs. */
export interface DeliveredEntry extends ActionEntry {
  /** Packet identifier on this connection. */
  readonly packetId: PacketId
  readonly connection: number
}

export interface ActionQueueClientOptions {
  readonly clientId: string
  /** Maximum number of unacknowledged entries. */
  readonly receiveMaximum: number
  /** User properties of CONNECT, which set the limits of the session. */
  readonly userProperties: UserProperties
  open(): ByteStream
  /** Runs `work` after the current work. */
  later(work: () => void): void
  /** Runs `work` after this time. */
  after(delayMs: number, work: () => void): { cancel(): void }
}

export interface ActionQueueCallbacks {
  /** Called when the session is open. Unacknowledged entries are then delivered again. */
  noteOpened(): void
  noteEntry(entry: DeliveredEntry): void
  /** Called when the connection was closed. It is opened again. */
  noteClosed(why: string): void
}

const largest = 268_435_460
const limits = { maxPacketBytes: largest, maxPropertyBytes: largest, maxTopicLevels: 65_535, maxTopicBytes: 65_535 }
const maxCachedTopics = 16
const neverExpires = 0xffff_ffff
const reopenMs = 500
const ackBytes = 4
/** Acknowledgements are collected for this time, because each turn of the shard costs a commit. */
const ackDelayMs = 2
/** When this number of acknowledgements, or a quarter of `receiveMaximum`, was collected, they are sent without delay. */
const maxDelayedAcks = 64

export class ActionQueueClient {
  readonly #options: ActionQueueClientOptions
  readonly #callbacks: ActionQueueCallbacks
  #stream: ByteStream | undefined
  #connection = 0
  #isOpen = false
  #isStopped = false
  #acks: PacketId[] = []
  readonly #maxCollectedAcks: number
  #ackTimer: { cancel(): void } | undefined
  #isWriting = false
  #reopen: { cancel(): void } | undefined

  constructor(options: ActionQueueClientOptions, callbacks: ActionQueueCallbacks) {
    this.#options = options
    this.#callbacks = callbacks
    this.#maxCollectedAcks = Math.max(1, Math.min(maxDelayedAcks, options.receiveMaximum >> 2))
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  start(): void {
    const { clientId, receiveMaximum, userProperties } = this.#options
    const stream = this.#options.open()
    const connection = ++this.#connection
    const topics = new TopicTable(maxCachedTopics)
    const decoder = new PacketDecoder({ role: 'client', version: 5, topics, sharesProperties: true, ...limits })
    stream.onData = (chunk) => this.#read(decoder, chunk, connection)
    stream.onClose = () => {
      if (connection === this.#connection) this.#handleClosed('the broker closed the connection')
    }
    this.#stream = stream
    this.#acks = []
    this.#isWriting = false
    const properties = { sessionExpiryIntervalSeconds: neverExpires, receiveMaximum, userProperties }
    this.#send({
      type: 'connect',
      version: 5,
      clientId,
      cleanStart: false,
      keepAliveSeconds: 0,
      username: undefined,
      password: undefined,
      will: undefined,
      properties,
      isBridge: false,
    })
  }

  /** Acknowledges an entry. Entries of an earlier connection are ignored, because they were delivered again. */
  acknowledge({ packetId, connection }: DeliveredEntry): void {
    if (connection !== this.#connection || !this.#isOpen) return
    this.#acks.push(packetId)
    if (this.#acks.length === this.#maxCollectedAcks) return this.#options.later(() => this.#flush())
    this.#ackTimer ??= this.#options.after(ackDelayMs, () => {
      this.#ackTimer = undefined
      this.#flush()
    })
  }

  /** Stops reading the session. Unacknowledged entries stay in it. */
  stop(): void {
    this.#isStopped = true
    this.#reopen?.cancel()
    this.#ackTimer?.cancel()
    this.#flush()
    this.#isOpen = false
    this.#connection++
    this.#stream?.end()
    this.#stream = undefined
  }

  #read(decoder: PacketDecoder, chunk: Buffer, connection: number): void {
    try {
      decoder.push(chunk)
      for (let packet = decoder.next(); packet !== undefined; packet = decoder.next()) {
        if (connection !== this.#connection) return
        this.#handlePacket(packet)
      }
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
      this.#handleClosed(error.message)
    }
  }

  #handlePacket(packet: Packet): void {
    if (packet.type === 'publish') return this.#callbacks.noteEntry(this.#entryOf(packet))
    if (packet.type === 'connack') {
      if (packet.reasonCode !== 0)
        return this.#handleClosed(`the broker refuses the session: reason code ${packet.reasonCode}`)
      this.#isOpen = true
      return this.#callbacks.noteOpened()
    }
    if (packet.type === 'disconnect') this.#handleClosed('the broker ended the connection')
  }

  #entryOf({ chunk, payloadStart, frameEnd, packetId, properties }: PublishPacket): DeliveredEntry {
    // The chunk belongs to the broker.
    const payload = Buffer.allocUnsafe(frameEnd - payloadStart)
    chunk.copy(payload, 0, payloadStart, frameEnd)
    const attributes = properties?.userProperties ?? []
    const connection = this.#connection
    if (!hasResult(attributes)) return { payload, attributes, result: undefined, packetId, connection }
    return { ...splitResult({ payload, attributes }), packetId, connection }
  }

  #handleClosed(why: string): void {
    if (this.#isStopped) return
    this.#isOpen = false
    this.#connection++
    this.#stream?.destroy()
    this.#stream = undefined
    this.#callbacks.noteClosed(why)
    this.#reopen = this.#options.after(reopenMs, () => {
      if (!this.#isStopped) this.start()
    })
  }

  #send(packet: ControlPacket): void {
    const bytes = Buffer.allocUnsafeSlow(measurePacket(packet, 5))
    writePacket(packet, 5, bytes, 0)
    this.#write(bytes)
  }

  #flush(): void {
    if (this.#isWriting || this.#acks.length === 0 || this.#stream === undefined) return
    const acks = this.#acks
    this.#acks = []
    const bytes = Buffer.allocUnsafeSlow(acks.length * ackBytes)
    let at = 0
    for (const packetId of acks) at = writeAck('puback', packetId, bytes, at)
    this.#write(bytes)
  }

  #write(bytes: Buffer): void {
    const connection = this.#connection
    this.#isWriting = true
    this.#stream?.write(bytes, () => {
      if (connection !== this.#connection) return
      this.#isWriting = false
      this.#flush()
    })
  }
}
