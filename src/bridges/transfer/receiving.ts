// Receives messages from the remote broker and publishes them through the bridge's session, with their own packet
// identifiers: the core's acknowledgement, which confirms that they are durable, is passed to the remote broker.
//
// If the remote broker lost the bridge's session, or reuses an identifier without PUBREL, the bridge first releases the
// old message at the core. Otherwise the core would drop the new message as a duplicate.

import {
  type AckPacket,
  type PacketId,
  type PublishFields,
  type PublishPacket,
  type Topic,
} from '../../protocol/index.ts'
import type { LoopMarker } from '../rules/loop-marker.ts'
import type { PacketLink } from '../../mqtt-client/index.ts'
import type { TopicRules } from '../rules/topic-rules.ts'
import type { BridgeCounters } from '../model/status.ts'

const allIds = 65_536
/** Maximum size of properties that brokers on the way may have added: identifiers, marks. */
const addedPropertyBytes = 1_024
const firstError = 0x80

/** By packet identifier: the expected packet. */
const awaits = { nothing: 0, puback: 1, pubrec: 2, release: 3, pubcomp: 4, releaseOfDropped: 5 } as const

export interface ReceivingDependencies {
  readonly local: PacketLink
  readonly remote: PacketLink
  readonly counters: BridgeCounters
  readonly mark: LoopMarker
  readonly topicAliasMaximum: number
  /** Maximum for clients of this broker. */
  readonly maxPropertyBytes: number
  /** This broker allows retained messages. */
  readonly retainAvailable: boolean
  /** Called if the remote broker violates the protocol. */
  handleProtocolError(text: string): void
  countUnexpected(description: string): void
}

export class Receiving {
  rules: TopicRules
  readonly #dependencies: ReceivingDependencies
  readonly #awaited = new Uint8Array(allIds)
  /** Pending PUBCOMP of the core for PUBREL packets of the bridge itself. */
  readonly #ownReleases = new Map<PacketId, number>()
  /** Packet identifiers of QoS 2 messages of an earlier connection for which PUBREL is missing. */
  readonly #old: Set<PacketId>
  readonly #aliases: (Topic | undefined)[] = []
  #incompleteMessages = 0
  #unacknowledged = 0

  constructor(dependencies: ReceivingDependencies, rules: TopicRules, old: Iterable<PacketId>) {
    this.#dependencies = dependencies
    this.rules = rules
    this.#old = new Set(old)
  }

  /** Number of incomplete messages. */
  get incompleteMessages(): number {
    return this.#incompleteMessages
  }

  /** Number of messages without PUBACK or PUBREC of the core. */
  get unacknowledged(): number {
    return this.#unacknowledged
  }

  /** The remote broker lost the session: its incomplete messages are dropped. */
  dropOld(): void {
    for (const packetId of this.#old) this.#releaseLocal(packetId)
    this.#old.clear()
  }

  publish(packet: PublishPacket): void {
    const { counters, mark, local } = this.#dependencies
    const topic = this.#resolveTopic(packet)
    if (topic === undefined) return
    counters.received++
    counters.receivedBytes += packet.frameEnd - packet.frameStart
    const [part] = this.rules.findParts(topic)
    if (part?.topic === undefined) {
      counters.dropped[part === undefined ? 'no-rule' : 'unmappable']++
      return this.#skip(packet)
    }
    if (packet.properties !== undefined && !mark.canReceive(packet.properties)) {
      counters.dropped.loop++
      return this.#skip(packet)
    }
    if (packet.properties !== undefined && estimatePropertyBytes(packet, topic) > this.#maxPropertyBytes) {
      counters.dropped['too-large']++
      return this.#skip(packet)
    }
    this.#expectAck(packet)
    const retain = this.#dependencies.retainAvailable && (part.retain ?? packet.retain)
    local.publish(toPublishFields(packet, { topic: part.topic, retain }, mark), Infinity)
  }

  /** Handles PUBREL of the remote broker. */
  release(packetId: PacketId): void {
    const { local, remote } = this.#dependencies
    const isOld = this.#old.delete(packetId)
    const awaited = this.#awaited[packetId]
    if (awaited === awaits.releaseOfDropped) {
      this.#awaited[packetId] = awaits.nothing
      return remote.acknowledge('pubcomp', packetId)
    }
    if (awaited === awaits.puback || awaited === awaits.pubrec)
      return this.#dependencies.handleProtocolError(`PUBREL for packet id ${packetId}, which it has no PUBREC for`)
    // It may release each message of an earlier connection once.
    const isAwaited = awaited === awaits.release || (isOld && awaited === awaits.nothing)
    if (!isAwaited) this.#dependencies.countUnexpected(`PUBREL for packet id ${packetId}`)
    if (awaited === awaits.nothing) this.#incompleteMessages++
    this.#awaited[packetId] = awaits.pubcomp
    local.acknowledge('pubrel', packetId)
  }

  /** Handles PUBACK, PUBREC or PUBCOMP of the core. */
  handleAck({ type, packetId, reasonCode }: AckPacket): void {
    const { remote, counters } = this.#dependencies
    if (type === 'pubcomp') return this.#handleLastAck(packetId)
    const isRefused = reasonCode >= firstError
    if (isRefused) counters.dropped['refused-here']++
    const awaited = this.#awaited[packetId]
    if (awaited === awaits.puback || awaited === awaits.pubrec) this.#unacknowledged--
    if (type === 'puback') {
      if (awaited === awaits.puback) this.#complete(packetId, awaits.nothing)
      return remote.acknowledge('puback', packetId)
    }
    if (awaited === awaits.pubrec) {
      if (isRefused) this.#complete(packetId, awaits.releaseOfDropped)
      else this.#awaited[packetId] = awaits.release
    }
    remote.acknowledge('pubrec', packetId)
  }

  #handleLastAck(packetId: PacketId): void {
    const own = this.#ownReleases.get(packetId)
    if (own !== undefined) {
      if (own === 1) this.#ownReleases.delete(packetId)
      else this.#ownReleases.set(packetId, own - 1)
      return
    }
    if (this.#awaited[packetId] === awaits.pubcomp) this.#complete(packetId, awaits.nothing)
    this.#dependencies.remote.acknowledge('pubcomp', packetId)
  }

  #complete(packetId: PacketId, next: number): void {
    this.#awaited[packetId] = next
    this.#incompleteMessages--
  }

  #expectAck({ qos, packetId, dup }: PublishPacket): void {
    if (qos === 0) return
    if (qos === 2 && this.#old.delete(packetId) && !dup) this.#releaseLocal(packetId)
    const isNew = this.#awaited[packetId] === awaits.nothing
    if (isNew) this.#incompleteMessages++
    if (isNew) this.#unacknowledged++
    if (isNew || qos === 1) this.#awaited[packetId] = qos === 1 ? awaits.puback : awaits.pubrec
  }

  #releaseLocal(packetId: PacketId): void {
    this.#ownReleases.set(packetId, (this.#ownReleases.get(packetId) ?? 0) + 1)
    this.#dependencies.local.acknowledge('pubrel', packetId)
  }

  get #maxPropertyBytes(): number {
    return this.#dependencies.maxPropertyBytes + addedPropertyBytes
  }

  /** Drops a message, but acknowledges it as if it was accepted, because a redelivery would be dropped again. */
  #skip({ qos, packetId }: PublishPacket): void {
    const { remote } = this.#dependencies
    if (qos === 1) remote.acknowledge('puback', packetId)
    if (qos !== 2) return
    // It may have been received under earlier rules. The remote broker's PUBREL is then not passed to the core.
    if (this.#old.delete(packetId)) this.#releaseLocal(packetId)
    this.#awaited[packetId] = awaits.releaseOfDropped
    remote.acknowledge('pubrec', packetId)
  }

  #resolveTopic({ topic, properties }: PublishPacket): Topic | undefined {
    const alias = properties?.topicAlias
    if (alias === undefined) return topic
    if (alias > this.#dependencies.topicAliasMaximum) {
      this.#dependencies.handleProtocolError(
        `topic alias ${alias}, but ${this.#dependencies.topicAliasMaximum} are allowed`,
      )
      return undefined
    }
    if (topic !== undefined) this.#aliases[alias] = topic
    const known = this.#aliases[alias]
    if (known === undefined) this.#dependencies.handleProtocolError(`topic alias ${alias}, which is not defined`)
    return known
  }
}

/** An estimate that includes a few bytes of headers and lengths. */
function estimatePropertyBytes({ frameStart, payloadStart }: PublishPacket, topic: Topic): number {
  return payloadStart - frameStart - topic.bytes.length
}

function toPublishFields(
  packet: PublishPacket,
  { topic, retain }: { readonly topic: Topic; readonly retain: boolean },
  mark: LoopMarker,
): PublishFields {
  const { qos, dup, packetId, properties, chunk, payloadStart, frameEnd } = packet
  return {
    topic,
    topicIsOmitted: false,
    topicAlias: 0,
    qos,
    retain,
    dup,
    packetId,
    properties: mark.markReceived(properties),
    messageExpiryIntervalSeconds: undefined,
    subscriptionIdentifiers: undefined,
    chunk,
    payloadStart,
    payloadEnd: frameEnd,
  }
}
