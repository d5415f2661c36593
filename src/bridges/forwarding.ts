// From here to the remote broker. The session of the bridge in our core has the queue, the packet ids and the state of each
// message; what the remote broker acknowledges is acknowledged to the core, and nothing is before.
//
//   core           bridge              remote
//    | PUBLISH p --> | PUBLISH p, p+2048 ... --> |    one for each rule that matches: most often one
//    |               | <-- PUBREC each --------- |
//    | <-- PUBREC p  |                           |    when the last has come
//    | PUBREL p ---> | PUBREL each ------------> |    on our disk: from here on nothing is published again
//    |               | <-- PUBCOMP each -------- |
//    | <-- PUBCOMP p |                           |
//
// The packet id of a part follows from the core's and from the place of its rule (`forward-slots.ts`), so that after a crash of either side
// everything is under its old id again, and what the remote broker has had it knows.

import {
  reasonCodes,
  type AckPacket,
  type AckType,
  type PacketId,
  type PublishFields,
  type PublishPacket,
  type QoS,
} from '../protocol/index.ts'
import { publishedQoSOf } from '../core/index.ts'
import type { ForwardSlots } from './forward-slots.ts'
import type { LoopMarker } from './loop-marker.ts'
import type { PacketLink } from './packet-link.ts'
import type { RejectedMessages } from './rejected-messages.ts'
import type { Part, RuleBook } from './rule-book.ts'
import type { BridgeCounters } from './status.ts'

/** The core gives the sessions of bridges no larger packet ids. */
const maxLocalId = 2_047
const idStep = maxLocalId + 1
const allIds = 65_536
const firstError = 0x80

/** Of one part: what the remote broker owes. */
const owes = { nothing: 0, puback: 1, pubrec: 2, release: 3, pubcomp: 4 } as const

/** What the remote broker has said that it takes. */
export interface RemoteLimits {
  readonly receiveMaximum: number
  readonly maximumPacketBytes: number
  readonly maximumQoS: QoS
  readonly retainAvailable: boolean
}

export interface ForwardingCallbacks {
  /** Messages can not go on: the connection is to be made anew after a while, and they come again. */
  startOver(why: string): void
  /** It has answered what nobody asked. */
  noteUnasked(what: string): void
}

export interface ForwardingDependencies {
  readonly local: PacketLink
  readonly remote: PacketLink
  readonly limits: RemoteLimits
  readonly counters: BridgeCounters
  readonly mark: LoopMarker
  /** Outlives connections. */
  readonly rejectedMessages: RejectedMessages
  /** Outlives them, too. */
  readonly slots: ForwardSlots
  readonly owner: ForwardingCallbacks
}

/** A part that waits for the remote broker to take one more. */
interface HeldPart {
  readonly fields: PublishFields
}

export class Forwarding {
  /** Other ones hold for what comes from then on. */
  rules: RuleBook
  readonly #dependencies: ForwardingDependencies
  /** By the core's packet id: the QoS of what is under way, 0 for none that came in this connection. */
  readonly #qos = new Uint8Array(idStep)
  /** By the same: 1, it has been sent in an earlier connection, of QoS 2 and perhaps by rules that are gone. */
  readonly #isRepeat = new Uint8Array(idStep)
  /** Parts without PUBACK or PUBREC. */
  readonly #unanswered = new Uint8Array(idStep)
  /** Parts without PUBCOMP. */
  readonly #unreleased = new Uint8Array(idStep)
  readonly #owed = new Uint8Array(allIds)
  /** Parts that the remote broker has not done with. */
  #inFlight = 0
  #held: HeldPart[] = []
  /** So many messages go one at a time, for the remote broker does not bear one of them. */
  #suspects: number
  /** The one that is on its way then. */
  #singleInFlight: PacketId = 0
  readonly #fields: PublishFields
  /** PUBACK, PUBREC and PUBCOMP that were waited for. */
  answers = 0

  constructor(dependencies: ForwardingDependencies, rules: RuleBook) {
    this.#dependencies = dependencies
    this.rules = rules
    this.#suspects = dependencies.rejectedMessages.suspects
    dependencies.rejectedMessages.suspects = 0
    this.#fields = emptyFields()
  }

  get inFlight(): number {
    return this.#inFlight + this.#held.length
  }

  /** A message of the core. */
  publish(packet: PublishPacket): void {
    const { topic, qos, packetId } = packet
    if (topic === undefined || packetId > maxLocalId)
      return this.#dependencies.owner.startOver('our own core broke the rules')
    const { counters, mark, remote, limits, rejectedMessages } = this.#dependencies
    if (qos > 0) {
      this.#qos[packetId] = qos
      this.#isRepeat[packetId] = packet.dup && qos === 2 ? 1 : 0
      // One more than there are parts: none of them is the last before all have been sent.
      this.#unanswered[packetId] = 1
    }
    const dependencies = this.rules.partsFor(topic)
    if (packet.properties !== undefined && !mark.canForward(packet.properties)) counters.dropped.loop++
    else if (dependencies.length === 0) counters.dropped['no-rule']++
    else if (qos > 0 ? rejectedMessages.isDropped(packetId) : this.#suspects > 0) counters.dropped['refused-there']++
    else {
      const properties = remote.version === 5 ? mark.markForwarded(packet.properties) : undefined
      // QoS 2 is released when all parts are there. Where the remote broker does not take so many at once they never were.
      const mostQoS = dependencies.length > limits.receiveMaximum ? 1 : limits.maximumQoS
      const published = publishedQoSOf(packet.properties?.subscriptionIdentifiers) ?? qos
      for (const part of dependencies) this.#send(packet, part, { properties, published, mostQoS })
    }
    if (qos > 0) this.#completePart(packetId)
  }

  /** PUBREL of the core: what it stands for is on our disk. */
  release(packetId: PacketId): void {
    const { local, remote, limits, slots } = this.#dependencies
    if (packetId > maxLocalId) return
    const isOfEarlierConnection = this.#qos[packetId] === 0 || this.#isRepeat[packetId] === 1
    this.#unreleased[packetId] = 0
    for (let place = 0; place < slots.count; place++) {
      const id = packetId + place * idStep
      const isWanted = this.#owed[id] === owes.release || (isOfEarlierConnection && limits.maximumQoS === 2)
      if (!isWanted) continue
      if (this.#owed[id] === owes.nothing) this.#inFlight++
      this.#owed[id] = owes.pubcomp
      this.#unreleased[packetId]++
      remote.acknowledge('pubrel', id)
    }
    if (this.#unreleased[packetId] === 0) this.#finish(local, 'pubcomp', packetId)
  }

  /** PUBACK, PUBREC or PUBCOMP of the remote broker. */
  handleAck(packet: AckPacket): void {
    const { packetId, type } = packet
    const owed = this.#owed[packetId]
    if (type === 'puback' && owed === owes.puback) return this.#handleFirstAck(packet, owes.nothing)
    if (type === 'pubrec' && owed === owes.pubrec) return this.#handleFirstAck(packet, owes.release)
    if (type === 'pubcomp' && owed === owes.pubcomp) return this.#handleLastAck(packetId)
    this.#dependencies.owner.noteUnasked(`${type} for packet id ${packetId}`)
    // Said twice: answered again, or it would ask for ever.
    if (type === 'pubrec' && owed === owes.pubcomp) this.#dependencies.remote.acknowledge('pubrel', packetId)
  }

  /** The remote broker has ended the connection for something that it was sent. */
  recordDisconnect(): void {
    const onTheirWay = new Set<PacketId>()
    for (const [id, owed] of this.#owed.entries())
      if (owed === owes.puback || owed === owes.pubrec) onTheirWay.add(id % idStep)
    this.#dependencies.rejectedMessages.recordDisconnect(onTheirWay)
  }

  #send(
    packet: PublishPacket,
    part: Part,
    how: { properties: PublishFields['properties']; published: QoS; mostQoS: QoS },
  ): void {
    const { properties, published, mostQoS } = how
    const { counters, limits } = this.#dependencies
    if (part.topic === undefined) return void counters.dropped.unmappable++
    const fields = this.#fields
    fields.topic = part.topic
    // The core gives no less than the highest of what the rules want, but for what was spooled under other rules.
    fields.qos = Math.min(packet.qos, part.qos ?? published, mostQoS) as QoS
    fields.retain = limits.retainAvailable && (part.retain ?? packet.retain)
    fields.dup = packet.dup && fields.qos > 0
    fields.packetId = packet.packetId + part.place * idStep
    fields.properties = properties
    fields.chunk = packet.chunk
    fields.payloadStart = packet.payloadStart
    fields.payloadEnd = packet.frameEnd
    if (fields.qos === 0) return void this.#write(fields)
    this.#unanswered[packet.packetId]++
    if (this.#held.length === 0 && this.#canSend(fields.packetId)) this.#sendOwed(fields)
    else this.#held.push({ fields: keptFields(fields) })
  }

  #canSend(packetId: PacketId): boolean {
    if (this.#suspects > 0) return this.#inFlight === 0 || this.#singleInFlight === packetId % idStep
    return this.#inFlight < this.#dependencies.limits.receiveMaximum
  }

  #sendOwed(fields: PublishFields): void {
    if (!this.#write(fields)) return this.#completePart(fields.packetId)
    this.#owed[fields.packetId] = fields.qos === 1 ? owes.puback : owes.pubrec
    this.#singleInFlight = fields.packetId % idStep
    this.#inFlight++
  }

  /** False: the remote broker takes nothing so large. */
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
    this.answers++
    const { counters, rejectedMessages } = this.#dependencies
    const isRefused = reasonCode >= firstError
    if (isRefused && isTemporary(reasonCode) && rejectedMessages.recordRejection(packetId % idStep)) {
      return this.#dependencies.owner.startOver(`it refused a message (0x${reasonCode.toString(16)})`)
    }
    if (isRefused) counters.dropped['refused-there']++
    else counters.acknowledged++
    this.#owed[packetId] = isRefused ? owes.nothing : next
    if (isRefused || next === owes.nothing) this.#decrementInFlight()
    this.#completePart(packetId)
  }

  /** The part has its first answer, or needs none. */
  #completePart(packetId: PacketId): void {
    const local = packetId % idStep
    if (--this.#unanswered[local] === 0) this.#acknowledgeFirst(local)
  }

  #handleLastAck(packetId: PacketId): void {
    const { local } = this.#dependencies
    const of = packetId % idStep
    this.answers++
    this.#owed[packetId] = owes.nothing
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
    if (this.#suspects > 0) this.#suspects--
    local.acknowledge(type, packetId)
  }

  /** One part less is under way. */
  #decrementInFlight(): void {
    this.#inFlight--
    this.#sendHeld()
  }

  #sendHeld(): void {
    for (let [next] = this.#held; next !== undefined && this.#canSend(next.fields.packetId); [next] = this.#held) {
      this.#held.shift()
      this.#sendOwed(next.fields)
    }
  }
}

/** Another time it may be taken: it is short of room, or says nothing of why. */
function isTemporary(reason: number): boolean {
  return (
    reason === reasonCodes.quotaExceeded ||
    reason === reasonCodes.unspecifiedError ||
    reason === reasonCodes.implementationSpecificError ||
    reason === reasonCodes.packetIdentifierInUse
  )
}

/** One object for all messages: it is written before the next. */
function emptyFields(): PublishFields {
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

function keptFields(fields: PublishFields): PublishFields {
  const payload = Buffer.from(fields.chunk.subarray(fields.payloadStart, fields.payloadEnd))
  return { ...fields, chunk: payload, payloadStart: 0, payloadEnd: payload.length }
}
