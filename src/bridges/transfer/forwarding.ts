// Forwards messages to the remote broker. The bridge's session in the core has the queue, the packet identifiers and the state of each
// message. The bridge acknowledges to the core what the remote broker has acknowledged, and nothing earlier.
//
//   core           bridge              remote
//    | PUBLISH p --> | PUBLISH p, p+2048 ... --> |    one part for each matching rule: usually one
//    |               | <-- PUBREC each --------- |
//    | <-- PUBREC p  |                           |    after the last one
//    | PUBREL p ---> | PUBREL each ------------> |    durable here: from now on no PUBLISH is repeated
//    |               | <-- PUBCOMP each -------- |
//    | <-- PUBCOMP p |                           |
//
// The packet identifier of a part follows from the core's and from the slot of its rule (`forward-slots.ts`). So after a failure of either
// side all parts have their old identifiers, and the remote broker detects duplicates.

import {
  reasonCodes,
  type AckPacket,
  type AckType,
  type PacketId,
  type PublishFields,
  type PublishPacket,
  type QoS,
} from '../../protocol/index.ts'
import { decodePublishedQoS } from '../../core/index.ts'
import type { ForwardSlots } from './forward-slots.ts'
import type { LoopMarker } from '../rules/loop-marker.ts'
import type { PacketLink, RemoteLimits } from '../../mqtt-client/index.ts'
import type { RejectedMessages } from './rejected-messages.ts'
import type { Part, TopicRules } from '../rules/topic-rules.ts'
import type { BridgeCounters } from '../model/status.ts'

/** Maximum packet identifier for sessions of bridges. */
const maxLocalId = 2_047
const idStep = maxLocalId + 1
const allIds = 65_536
const firstError = 0x80

/** By packet identifier of a part: the packet that is expected from the remote broker, or `release`: PUBREL of the core. */
const awaits = { nothing: 0, puback: 1, pubrec: 2, release: 3, pubcomp: 4 } as const

export interface ForwardingCallbacks {
  /** Called if no message can be sent: the bridge reconnects after a pause, and messages are sent again. */
  reconnect(why: string): void
  /** Called when the other side has sent an acknowledgement without a packet to acknowledge. */
  countUnexpected(description: string): void
}

export interface ForwardingDependencies {
  readonly local: PacketLink
  readonly remote: PacketLink
  readonly limits: RemoteLimits
  readonly counters: BridgeCounters
  readonly mark: LoopMarker
  /** Outlives connections. */
  readonly rejectedMessages: RejectedMessages
  /** Outlives connections. */
  readonly slots: ForwardSlots
  readonly callbacks: ForwardingCallbacks
}

/** A part that waits for the remote broker's Receive Maximum. */
interface WaitingPart {
  readonly fields: PublishFields
}

export class Forwarding {
  /** May be replaced for later messages. */
  rules: TopicRules
  readonly #dependencies: ForwardingDependencies
  /** By the core's packet identifier: QoS of the in-flight message, 0 for none on this connection. */
  readonly #qos = new Uint8Array(idStep)
  /** By the same: 1 if it was sent on an earlier connection with QoS 2, possibly by removed rules. */
  readonly #isRepeat = new Uint8Array(idStep)
  /** Parts without PUBACK or PUBREC. */
  readonly #unacknowledged = new Uint8Array(idStep)
  /** Parts without PUBCOMP. */
  readonly #unreleased = new Uint8Array(idStep)
  readonly #awaited = new Uint8Array(allIds)
  /** Parts that the remote broker has not completed. */
  #inFlight = 0
  #waiting: WaitingPart[] = []
  /** Number of messages that are sent one at a time, to find the one that the remote broker cannot handle. */
  #candidates: number
  /** The message in flight while messages are sent one at a time. */
  #singleInFlight: PacketId = 0
  readonly #fields: PublishFields
  /** Number of received PUBACK, PUBREC and PUBCOMP packets that were expected. */
  receivedAcks = 0

  constructor(dependencies: ForwardingDependencies, rules: TopicRules) {
    this.#dependencies = dependencies
    this.rules = rules
    this.#candidates = dependencies.rejectedMessages.candidates
    dependencies.rejectedMessages.candidates = 0
    this.#fields = createEmptyFields()
  }

  get inFlight(): number {
    return this.#inFlight + this.#waiting.length
  }

  /** Handles a message of the core. */
  publish(packet: PublishPacket): void {
    const { topic, qos, packetId } = packet
    if (topic === undefined || packetId > maxLocalId)
      return this.#dependencies.callbacks.reconnect(
        'internal error: the core sent a message that a bridge cannot forward',
      )
    const { counters, mark, remote, limits, rejectedMessages } = this.#dependencies
    if (qos > 0) {
      this.#qos[packetId] = qos
      this.#isRepeat[packetId] = packet.dup && qos === 2 ? 1 : 0
      // One more than the number of parts, so that none is the last before all were sent.
      this.#unacknowledged[packetId] = 1
    }
    const parts = this.rules.findParts(topic)
    if (packet.properties !== undefined && !mark.canForward(packet.properties)) counters.dropped.loop++
    else if (parts.length === 0) counters.dropped['no-rule']++
    else if (qos > 0 ? rejectedMessages.mustDrop(packetId) : this.#candidates > 0) counters.dropped['refused-there']++
    else {
      const properties = remote.version === 5 ? mark.markForwarded(packet.properties) : undefined
      // QoS 2 parts are released together. If the remote broker's Receive Maximum is lower, that would never happen.
      const maxQoS = parts.length > limits.receiveMaximum ? 1 : limits.maximumQoS
      const published = decodePublishedQoS(packet.properties?.subscriptionIdentifiers) ?? qos
      for (const part of parts) this.#send(packet, part, { properties, published, maxQoS })
    }
    if (qos > 0) this.#completePart(packetId)
  }

  /** PUBREL of the core: PUBREC is durable. */
  release(packetId: PacketId): void {
    const { local, remote, limits, slots } = this.#dependencies
    if (packetId > maxLocalId) return
    const isOfEarlierConnection = this.#qos[packetId] === 0 || this.#isRepeat[packetId] === 1
    this.#unreleased[packetId] = 0
    for (let place = 0; place < slots.count; place++) {
      const id = packetId + place * idStep
      const isAwaited = this.#awaited[id] === awaits.release || (isOfEarlierConnection && limits.maximumQoS === 2)
      if (!isAwaited) continue
      if (this.#awaited[id] === awaits.nothing) this.#inFlight++
      this.#awaited[id] = awaits.pubcomp
      this.#unreleased[packetId]++
      remote.acknowledge('pubrel', id)
    }
    if (this.#unreleased[packetId] === 0) this.#finish(local, 'pubcomp', packetId)
  }

  /** Handles PUBACK, PUBREC or PUBCOMP of the remote broker. */
  handleAck(packet: AckPacket): void {
    const { packetId, type } = packet
    const awaited = this.#awaited[packetId]
    if (type === 'puback' && awaited === awaits.puback) return this.#handleFirstAck(packet, awaits.nothing)
    if (type === 'pubrec' && awaited === awaits.pubrec) return this.#handleFirstAck(packet, awaits.release)
    if (type === 'pubcomp' && awaited === awaits.pubcomp) return this.#handleLastAck(packetId)
    this.#dependencies.callbacks.countUnexpected(`${type} for packet id ${packetId}`)
    // PUBREL is sent again for a repeated PUBREC, which would otherwise be repeated forever.
    if (type === 'pubrec' && awaited === awaits.pubcomp) this.#dependencies.remote.acknowledge('pubrel', packetId)
  }

  /** The remote broker has disconnected because of a packet. */
  recordDisconnect(): void {
    const unacknowledged = new Set<PacketId>()
    for (const [id, awaited] of this.#awaited.entries())
      if (awaited === awaits.puback || awaited === awaits.pubrec) unacknowledged.add(id % idStep)
    this.#dependencies.rejectedMessages.recordDisconnect(unacknowledged)
  }

  #send(
    packet: PublishPacket,
    part: Part,
    options: { properties: PublishFields['properties']; published: QoS; maxQoS: QoS },
  ): void {
    const { properties, published, maxQoS } = options
    const { counters, limits } = this.#dependencies
    if (part.topic === undefined) return void counters.dropped.unmappable++
    const fields = this.#fields
    fields.topic = part.topic
    // The core sends at least the QoS that the rules require, except for messages queued under other rules.
    fields.qos = Math.min(packet.qos, part.qos ?? published, maxQoS) as QoS
    fields.retain = limits.retainAvailable && (part.retain ?? packet.retain)
    fields.dup = packet.dup && fields.qos > 0
    fields.packetId = packet.packetId + part.place * idStep
    fields.properties = properties
    fields.chunk = packet.chunk
    fields.payloadStart = packet.payloadStart
    fields.payloadEnd = packet.frameEnd
    if (fields.qos === 0) return void this.#write(fields)
    this.#unacknowledged[packet.packetId]++
    if (this.#waiting.length === 0 && this.#canSend(fields.packetId)) this.#sendAndAwaitAck(fields)
    else this.#waiting.push({ fields: copyFields(fields) })
  }

  #canSend(packetId: PacketId): boolean {
    if (this.#candidates > 0) return this.#inFlight === 0 || this.#singleInFlight === packetId % idStep
    return this.#inFlight < this.#dependencies.limits.receiveMaximum
  }

  #sendAndAwaitAck(fields: PublishFields): void {
    if (!this.#write(fields)) return this.#completePart(fields.packetId)
    this.#awaited[fields.packetId] = fields.qos === 1 ? awaits.puback : awaits.pubrec
    this.#singleInFlight = fields.packetId % idStep
    this.#inFlight++
  }

  /** Returns false if the message exceeds the remote broker's maximum packet size. */
  #write(fields: PublishFields): boolean {
    const { remote, counters, limits } = this.#dependencies
    const bytes = remote.publish(fields, limits.maximumPacketBytes)
    if (bytes > limits.maximumPacketBytes) {
      counters.dropped['too-large']++
      return false
    }
    counters.sent++
    counters.sentBytes += bytes
    if (fields.dup) counters.sentAgain++
    return true
  }

  #handleFirstAck({ packetId, reasonCode }: AckPacket, next: number): void {
    this.receivedAcks++
    const { counters, rejectedMessages } = this.#dependencies
    const isRefused = reasonCode >= firstError
    if (isRefused && isTemporary(reasonCode) && rejectedMessages.recordRejection(packetId % idStep)) {
      return this.#dependencies.callbacks.reconnect(
        `the remote broker refused a message (0x${reasonCode.toString(16)})`,
      )
    }
    if (isRefused) counters.dropped['refused-there']++
    else counters.acknowledged++
    this.#awaited[packetId] = isRefused ? awaits.nothing : next
    if (isRefused || next === awaits.nothing) this.#decrementInFlight()
    this.#completePart(packetId)
  }

  /** The part has its first acknowledgement, or needs none. */
  #completePart(packetId: PacketId): void {
    const local = packetId % idStep
    if (--this.#unacknowledged[local] === 0) this.#acknowledgeFirst(local)
  }

  #handleLastAck(packetId: PacketId): void {
    const { local } = this.#dependencies
    const of = packetId % idStep
    this.receivedAcks++
    this.#awaited[packetId] = awaits.nothing
    this.#decrementInFlight()
    if (--this.#unreleased[of] === 0) this.#finish(local, 'pubcomp', of)
  }

  #acknowledgeFirst(packetId: PacketId): void {
    const { local } = this.#dependencies
    if (this.#qos[packetId] === 1) this.#finish(local, 'puback', packetId)
    else local.acknowledge('pubrec', packetId)
  }

  #finish(local: PacketLink, type: AckType, packetId: PacketId): void {
    this.#qos[packetId] = 0
    this.#dependencies.rejectedMessages.forget(packetId)
    if (this.#candidates > 0) this.#candidates--
    local.acknowledge(type, packetId)
  }

  /** One part was completed. */
  #decrementInFlight(): void {
    this.#inFlight--
    this.#sendWaiting()
  }

  #sendWaiting(): void {
    for (
      let [next] = this.#waiting;
      next !== undefined && this.#canSend(next.fields.packetId);
      [next] = this.#waiting
    ) {
      this.#waiting.shift()
      this.#sendAndAwaitAck(next.fields)
    }
  }
}

/** A temporary reason: a quota, or unspecified. */
function isTemporary(reason: number): boolean {
  return (
    reason === reasonCodes.quotaExceeded ||
    reason === reasonCodes.unspecifiedError ||
    reason === reasonCodes.implementationSpecificError ||
    reason === reasonCodes.packetIdentifierInUse
  )
}

/** One object for all messages: it is encoded before the next one. */
function createEmptyFields(): PublishFields {
  return {
    topic: undefined as never,
    topicIsOmitted: false,
    topicAlias: 0,
    qos: 0,
    retain: false,
    dup: false,
    packetId: 0,
    properties: undefined,
    messageExpiryIntervalSeconds: undefined,
    subscriptionIdentifiers: undefined,
    chunk: Buffer.alloc(0),
    payloadStart: 0,
    payloadEnd: 0,
  }
}

function copyFields(fields: PublishFields): PublishFields {
  const payload = Buffer.from(fields.chunk.subarray(fields.payloadStart, fields.payloadEnd))
  return { ...fields, chunk: payload, payloadStart: 0, payloadEnd: payload.length }
}
