// Reads an action queue, which is a persistent session of this broker, as an MQTT client over a stream within the process.
// Unacknowledged entries are delivered again on the next connection.

import { createConnectPacket, type LinkCallbacks, PacketLink, createReceiveLimits } from '../../mqtt-client/index.ts'
import {
  TopicTable,
  type Packet,
  type PacketId,
  type ProtocolError,
  type PublishPacket,
  type UserProperties,
} from '../../protocol/index.ts'
import type { ByteStream } from '../../transports/index.ts'
import type { ActionEntry } from '../../sinks/index.ts'
import { hasResult, splitResult } from './joined-result.ts'

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
  onOpened(): void
  onEntry(entry: DeliveredEntry): void
  /** Called when the connection was closed. It is opened again. */
  onClosed(why: string): void
}

const maxCachedTopics = 16
const neverExpires = 0xffff_ffff
const reopenMs = 500
/** Acknowledgements are collected for this time, because each turn of the shard costs a commit. */
const ackDelayMs = 2
/** When this number of acknowledgements, or a quarter of `receiveMaximum`, was collected, they are sent without delay. */
const maxDelayedAcks = 64

export class ActionQueueClient implements LinkCallbacks {
  readonly #options: ActionQueueClientOptions
  readonly #callbacks: ActionQueueCallbacks
  #link: PacketLink | undefined
  #connection = 0
  #isOpen = false
  #isStopped = false
  readonly #maxCollectedAcks: number
  #ackTimer: { cancel(): void } | undefined
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
    const topics = new TopicTable(maxCachedTopics)
    const link = new PacketLink(this, this.#options.open(), {
      decoder: { role: 'client', version: 5, topics, sharesProperties: true, ...createReceiveLimits() },
      later: (work) => (this.#ackTimer = this.#options.after(ackDelayMs, work)),
      ownsChunks: false,
    })
    this.#connection++
    this.#link = link
    const properties = { sessionExpiryIntervalSeconds: neverExpires, receiveMaximum, userProperties }
    link.send(createConnectPacket({ version: 5, clientId, cleanStart: false, properties }))
    link.flush()
  }

  /** Acknowledges an entry. Entries of an earlier connection are ignored, because they were delivered again. */
  acknowledge({ packetId, connection }: DeliveredEntry): void {
    const link = this.#link
    if (link === undefined || connection !== this.#connection || !this.#isOpen) return
    link.acknowledge('puback', packetId)
    if (link.unwrittenAcks === this.#maxCollectedAcks) this.#options.later(() => link.flush())
  }

  /** Stops reading the session. Unacknowledged entries stay in it. */
  stop(): void {
    this.#isStopped = true
    this.#reopen?.cancel()
    this.#ackTimer?.cancel()
    this.#isOpen = false
    this.#link?.end(undefined)
    this.#link = undefined
  }

  handlePacket(_link: PacketLink, packet: Packet): void {
    if (packet.type === 'publish') return this.#callbacks.onEntry(this.#toDeliveredEntry(packet))
    if (packet.type === 'connack') {
      if (packet.reasonCode !== 0)
        return this.#reopenLater(`the broker refuses the session: reason code ${packet.reasonCode}`)
      this.#isOpen = true
      return this.#callbacks.onOpened()
    }
    if (packet.type === 'disconnect') this.#reopenLater('the broker ended the connection')
  }

  handleMalformed(_link: PacketLink, { message }: ProtocolError): void {
    this.#reopenLater(message)
  }

  handleClosed(): void {
    this.#reopenLater('the broker closed the connection')
  }

  #toDeliveredEntry({ chunk, payloadStart, frameEnd, packetId, properties }: PublishPacket): DeliveredEntry {
    // The chunk belongs to the broker.
    const payload = Buffer.allocUnsafe(frameEnd - payloadStart)
    chunk.copy(payload, 0, payloadStart, frameEnd)
    const attributes = properties?.userProperties ?? []
    const connection = this.#connection
    if (!hasResult(attributes)) return { payload, attributes, result: undefined, packetId, connection }
    return { ...splitResult({ payload, attributes }), packetId, connection }
  }

  #reopenLater(why: string): void {
    if (this.#isStopped) return
    this.#isOpen = false
    this.#connection++
    this.#link?.destroy()
    this.#link = undefined
    this.#callbacks.onClosed(why)
    this.#reopen = this.#options.after(reopenMs, () => {
      if (!this.#isStopped) this.start()
    })
  }
}
