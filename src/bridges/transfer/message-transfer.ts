// Transfers messages in both directions while both sides are connected, with backpressure.

import { TopicTable, type ConnackPacket, type Packet } from '../../protocol/index.ts'
import type { ForwardSlots } from './forward-slots.ts'
import { Forwarding } from './forwarding.ts'
import { LoopMarker, findBrokerName } from '../rules/loop-marker.ts'
import { type ConnectionState, toRemoteLimits, type PacketLink } from '../../mqtt-client/index.ts'
import { isPacketReason, type RejectedMessages } from './rejected-messages.ts'
import { Receiving } from './receiving.ts'
import { createForwardTopicRules, type OpenTopics, createSubscriptionTopicRules } from '../rules/topic-rules.ts'
import type { BridgeSettings } from '../model/bridge-settings.ts'
import type { BridgeCounters } from '../model/status.ts'
import type { LocalBroker } from '../model/bridge-dependencies.ts'

/** Maximum unsent bytes of one side: beyond it, reading from the other side pauses. */
const maxUnsentBytes = 1_048_576
/** Reading resumes below this. */
const resumeBelowBytes = maxUnsentBytes / 2
/** Maximum unexpected packets between two PINGREQ packets: beyond it, the remote broker is considered faulty. */
const maxUnexpectedPackets = 1_000
/**
 * Maximum unwritten acknowledgements: a correct client cannot cause more, because an identifier is free only after its
 * acknowledgement was read.
 */
const maxUnwrittenAcks = 200_000
/** Topics with cached parts on each side. */
export const maxCachedTopics = 65_536

export interface TransferDependencies {
  readonly local: PacketLink
  readonly remote: PacketLink
  readonly connack: ConnackPacket
  /** CONNACK of the own broker. */
  readonly localConnack: ConnackPacket
  readonly settings: BridgeSettings
  readonly broker: LocalBroker
  readonly counters: BridgeCounters
  readonly rejectedMessages: RejectedMessages
  /** Filters of clients, of a transparent bridge. */
  readonly open: OpenTopics
  readonly slots: ForwardSlots
  /** Called if no message can be sent: the bridge reconnects after a pause, and messages are sent again. */
  reconnect(why: string): void
  /** Called if the remote broker violates the protocol. */
  handleProtocolError(text: string): void
}

export class MessageTransfer {
  readonly #dependencies: TransferDependencies
  readonly #forwarding: Forwarding
  readonly #receiving: Receiving
  #unexpected = 0
  #isDraining = false

  constructor(dependencies: TransferDependencies) {
    this.#dependencies = dependencies
    const { local, remote, connack, settings, broker, counters, rejectedMessages, slots } = dependencies
    const { brokerId, forwards, subscriptions, topicAliasMaximum } = settings
    const shared = { local, remote, counters, mark: new LoopMarker(brokerId, findBrokerName(connack)) }
    const cache = createTopicCache(broker)
    const callbacks = {
      reconnect: (why: string) => dependencies.reconnect(why),
      countUnexpected: (description: string) => this.#countUnexpected(description),
    }
    const limits = toRemoteLimits(connack, settings)
    const forwarding = { ...shared, limits, rejectedMessages, callbacks, slots }
    this.#forwarding = new Forwarding(forwarding, createForwardTopicRules(forwards, cache, slots.findSlots(forwards)))
    const handleProtocolError = (text: string): void => dependencies.handleProtocolError(text)
    const { maxPropertyBytes } = broker.limits
    const retainAvailable = dependencies.localConnack.properties?.retainAvailable ?? true
    const receiving = {
      ...shared,
      ...callbacks,
      topicAliasMaximum,
      maxPropertyBytes,
      retainAvailable,
      handleProtocolError,
    }
    const topicRules = createSubscriptionTopicRules(subscriptions, cache, dependencies.open)
    this.#receiving = new Receiving(receiving, topicRules, broker.readSessionStatus().unreleased)
    if (!connack.sessionPresent) this.#receiving.dropOld()
  }

  get inFlight(): number {
    return this.#forwarding.inFlight
  }

  /** Progress for the monitor. */
  get progress(): ConnectionState {
    const { isReadingPaused, unsentBytes } = this.#dependencies.remote
    const { inFlight, receivedAcks } = this.#forwarding
    return { inFlight, receivedAcks, isHeld: isReadingPaused, unsentBytes }
  }

  /** True if no message is in flight. */
  get isIdle(): boolean {
    return this.#forwarding.inFlight === 0 && this.#receiving.incompleteMessages === 0
  }

  /**
   * Stops forwarding new messages. Later messages of the core are not acknowledged, so the core sends them again. Acknowledgements are
   * still handled.
   */
  drain(): void {
    this.#isDraining = true
  }

  /** Applies other rules to later messages. */
  changeRules({ forwards, subscriptions }: BridgeSettings): void {
    const { broker, slots, open } = this.#dependencies
    const cache = createTopicCache(broker)
    this.#forwarding.rules = createForwardTopicRules(forwards, cache, slots.findSlots(forwards))
    this.#receiving.rules = createSubscriptionTopicRules(subscriptions, cache, open)
  }

  handleLocalPacket(packet: Packet): void {
    switch (packet.type) {
      case 'publish':
        return this.#isDraining ? undefined : this.#forwarding.publish(packet)
      case 'pubrel':
        return this.#forwarding.release(packet.packetId)
      case 'puback':
      case 'pubrec':
      case 'pubcomp':
        return this.#receiving.handleAck(packet)
      default:
    }
  }

  handleRemotePacket(packet: Packet): void {
    switch (packet.type) {
      case 'publish':
        return this.#receiving.publish(packet)
      case 'pubrel':
        return this.#receiving.release(packet.packetId)
      case 'puback':
      case 'pubrec':
      case 'pubcomp':
        return this.#forwarding.handleAck(packet)
      case 'pingresp':
      case 'suback':
      case 'unsuback':
        return this.#countUnexpectedAck(packet.type)
      default:
        return this.#dependencies.handleProtocolError(`unexpected packet: ${packet.type}`)
    }
  }

  /** The remote broker has disconnected. */
  handleDisconnect(reason: number): void {
    if (isPacketReason(reason)) this.#forwarding.recordDisconnect()
  }

  /** Sends a PINGREQ. */
  ping(): void {
    this.#dependencies.remote.send({ type: 'pingreq' })
    this.#unexpected = 0
  }

  /** Pauses reading from the side whose messages the other side receives more slowly. */
  pauseFasterSide(): void {
    const { remote, local } = this.#dependencies
    if (remote.unwrittenAcks > maxUnwrittenAcks)
      return this.#dependencies.handleProtocolError('it does not read the acknowledgements of its packets')
    if (remote.unsentBytes > maxUnsentBytes) local.pauseReading()
    if (local.unsentBytes > maxUnsentBytes || !this.#canReceive) remote.pauseReading()
    else if (remote.isReadingPaused) this.resumeReading()
  }

  resumeReading(): void {
    const { remote, local } = this.#dependencies
    if (local.isReadingPaused && remote.unsentBytes <= resumeBelowBytes) local.resumeReading()
    if (remote.isReadingPaused && this.#canReceive && local.unsentBytes <= resumeBelowBytes) remote.resumeReading()
  }

  /** Whether another message may be received. */
  get #canReceive(): boolean {
    return this.#receiving.unacknowledged < (this.#dependencies.settings.maxUnacknowledged ?? Infinity)
  }

  /**
   * Counts a packet that is not an acknowledgement of a message. More than 1000 between two PINGREQ packets are a
   * protocol error, even if the bridge expects some of them.
   */
  #countUnexpectedAck(type: string): void {
    if (++this.#unexpected > maxUnexpectedPackets)
      this.#dependencies.handleProtocolError(`more than ${maxUnexpectedPackets} ${type} packets between two pings`)
  }

  #countUnexpected(description: string): void {
    this.#dependencies.counters.unexpected++
    if (++this.#unexpected > maxUnexpectedPackets)
      this.#dependencies.handleProtocolError(
        `more than ${maxUnexpectedPackets} unexpected acknowledgements between two pings, such as ${description}`,
      )
  }
}

/** Returns the topic cache of a rule set, and the limit of topic levels. */
function createTopicCache({ limits }: LocalBroker): { topics: TopicTable; maxTopicLevels: number } {
  return { topics: new TopicTable(maxCachedTopics), maxTopicLevels: limits.maxTopicLevels }
}
