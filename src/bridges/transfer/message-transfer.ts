// Transfers messages in both directions while both sides are connected, with backpressure.

import { TopicTable, type ConnackPacket, type Packet } from '../../protocol/index.ts'
import { limitsOf } from '../connection/connect-packets.ts'
import type { ConnectionState } from '../connection/connection-monitor.ts'
import type { ForwardSlots } from './forward-slots.ts'
import { Forwarding } from './forwarding.ts'
import { LoopMarker, nameIn } from '../rules/loop-marker.ts'
import type { PacketLink } from '../connection/packet-link.ts'
import { isPacketReason, type RejectedMessages } from './rejected-messages.ts'
import { Receiving } from './receiving.ts'
import { forwardTopicRules, type OpenTopics, subscriptionTopicRules } from '../rules/topic-rules.ts'
import type { BridgeSettings } from '../model/settings.ts'
import type { BridgeCounters } from '../model/status.ts'
import type { LocalBroker } from '../model/bridge-dependencies.ts'

/** Maximum unsent bytes of one side: beyond it, reading from the other side pauses. */
const maxUnsentBytes = 1_048_576
/** Reading resumes below this. */
const resumeBelowBytes = maxUnsentBytes / 2
/** Maximum unexpected packets in a part of the keep alive: beyond it, the remote broker is considered faulty. */
const maxUnexpectedPackets = 1_000
/**
 * Maximum unsent acknowledgements: a correct client cannot cause more, because an identifier is free only after its
 * acknowledgement was read.
 */
const maxUnreadAcks = 200_000
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
  /** Messages cannot continue: the bridge reconnects after a pause, and they are sent again. */
  reconnect(why: string): void
  /** The remote broker violates the protocol. */
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
    const shared = { local, remote, counters, mark: new LoopMarker(brokerId, nameIn(connack)) }
    const where = whereOf(broker)
    const owner = {
      startOver: (why: string) => dependencies.reconnect(`the remote broker: ${why}`),
      countUnexpected: (what: string) => this.#countUnexpected(what),
    }
    const limits = limitsOf(connack, settings)
    const forwarding = { ...shared, limits, rejectedMessages, owner, slots }
    this.#forwarding = new Forwarding(forwarding, forwardTopicRules(forwards, where, slots.of(forwards)))
    const noteBreach = (text: string): void => dependencies.handleProtocolError(text)
    const { maxPropertyBytes } = broker.limits
    const retainAvailable = dependencies.localConnack.properties?.retainAvailable ?? true
    const receiving = { ...shared, ...owner, topicAliasMaximum, maxPropertyBytes, retainAvailable, noteBreach }
    const book = subscriptionTopicRules(subscriptions, where, dependencies.open)
    this.#receiving = new Receiving(receiving, book, broker.sessionStatus().unreleased)
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

  /** No message is in flight. */
  get isQuiet(): boolean {
    return this.#forwarding.inFlight === 0 && this.#receiving.owed === 0
  }

  /**
   * No further message is started. Messages of the core are not acknowledged, and are sent again; its acknowledgements
   * are handled.
   */
  drain(): void {
    this.#isDraining = true
  }

  /** Applies other rules to later messages. */
  changeRules({ forwards, subscriptions }: BridgeSettings): void {
    const { broker, slots, open } = this.#dependencies
    const where = whereOf(broker)
    this.#forwarding.rules = forwardTopicRules(forwards, where, slots.of(forwards))
    this.#receiving.rules = subscriptionTopicRules(subscriptions, where, open)
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

  /** Sends a ping: a part of the keep alive has passed. */
  ping(): void {
    this.#dependencies.remote.send({ type: 'pingreq' })
    this.#unexpected = 0
  }

  /** Pauses reading from the side whose messages the other side receives more slowly. */
  pauseFasterSide(): void {
    const { remote, local } = this.#dependencies
    if (remote.unwrittenAcks > maxUnreadAcks)
      return this.#dependencies.handleProtocolError(
        'it sends packets that need acknowledgements, and reads none of these',
      )
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

  /** More than a thousand acknowledgements between two pings are unexpected, whether required or not. */
  #countUnexpectedAck(type: string): void {
    if (++this.#unexpected > maxUnexpectedPackets) this.#dependencies.handleProtocolError(`a flood of ${type}`)
  }

  #countUnexpected(what: string): void {
    this.#dependencies.counters.unexpected++
    if (++this.#unexpected > maxUnexpectedPackets)
      this.#dependencies.handleProtocolError(`a flood of acknowledgements, such as ${what}`)
  }
}

/** Each rule set has its own topic cache. */
function whereOf({ limits }: LocalBroker): { topics: TopicTable; maxTopicLevels: number } {
  return { topics: new TopicTable(maxCachedTopics), maxTopicLevels: limits.maxTopicLevels }
}
