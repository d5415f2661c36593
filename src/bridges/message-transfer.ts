// While both sides are there: what goes over, in both directions, and who is held back.

import { TopicTable, type ConnackPacket, type Packet } from '../protocol/index.ts'
import { limitsOf } from './connect-packets.ts'
import type { ConnectionState } from './connection-monitor.ts'
import type { ForwardSlots } from './forward-slots.ts'
import { Forwarding } from './forwarding.ts'
import { LoopMarker, nameIn } from './loop-marker.ts'
import type { PacketLink } from './packet-link.ts'
import { isForPacket, type RejectedMessages } from './rejected-messages.ts'
import { Receiving } from './receiving.ts'
import { forwardBook, type OpenTopics, subscriptionBook } from './rule-book.ts'
import type { BridgeSettings } from './settings.ts'
import type { BridgeCounters } from './status.ts'
import type { LocalBroker } from './world.ts'

/** What waits to be written to one side: beyond it the other side is not read. */
const maxUnsentBytes = 1_048_576
/** It is read again when so much is left. */
const resumeBelowBytes = maxUnsentBytes / 2
/** So many packets that nothing had asked for, in a part of the keep alive, and the remote broker is out of order. */
const maxUnexpectedPackets = 1_000
/** Whoever keeps to packet ids cannot be owed so many: each is free again only when its answer has been read. */
const maxUnreadAcks = 200_000
/** Topics that each side remembers with what becomes of them. */
export const maxCachedTopics = 65_536

export interface TransferDependencies {
  readonly local: PacketLink
  readonly remote: PacketLink
  readonly connack: ConnackPacket
  /** Of our own broker. */
  readonly localConnack: ConnackPacket
  readonly settings: BridgeSettings
  readonly broker: LocalBroker
  readonly counters: BridgeCounters
  readonly rejectedMessages: RejectedMessages
  /** What clients here are subscribed to, of a bridge that passes that on. */
  readonly open: OpenTopics
  readonly slots: ForwardSlots
  /** Messages can not go on: the connection is to be made anew after a while, and they come again. */
  reconnect(why: string): void
  /** The remote broker breaks the protocol. */
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
      noteUnasked: (what: string) => this.#noteUnasked(what),
    }
    const limits = limitsOf(connack, settings)
    const forwarding = { ...shared, limits, rejectedMessages, owner, slots }
    this.#forwarding = new Forwarding(forwarding, forwardBook(forwards, where, slots.of(forwards)))
    const noteBreach = (text: string): void => dependencies.handleProtocolError(text)
    const { maxPropertyBytes } = broker.limits
    const retainAvailable = dependencies.localConnack.properties?.retainAvailable ?? true
    const receiving = { ...shared, ...owner, topicAliasMaximum, maxPropertyBytes, retainAvailable, noteBreach }
    const book = subscriptionBook(subscriptions, where, dependencies.open)
    this.#receiving = new Receiving(receiving, book, broker.sessionStatus().unreleased)
    if (!connack.sessionPresent) this.#receiving.dropOld()
  }

  get inFlight(): number {
    return this.#forwarding.inFlight
  }

  /** How far it has come. */
  get progress(): ConnectionState {
    const { isReadingPaused, unsentBytes } = this.#dependencies.remote
    const { inFlight, answers } = this.#forwarding
    return { inFlight, answers, isHeld: isReadingPaused, unsentBytes }
  }

  /** Nothing is under way. */
  get isQuiet(): boolean {
    return this.#forwarding.inFlight === 0 && this.#receiving.owed === 0
  }

  /** No message is begun any more. Those of the core are left without an answer, and come again; its answers are heard. */
  drain(): void {
    this.#isDraining = true
  }

  /** Other rules, for what comes from now on. */
  changeRules({ forwards, subscriptions }: BridgeSettings): void {
    const { broker, slots, open } = this.#dependencies
    const where = whereOf(broker)
    this.#forwarding.rules = forwardBook(forwards, where, slots.of(forwards))
    this.#receiving.rules = subscriptionBook(subscriptions, where, open)
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
        return this.#countAnswer(packet.type)
      default:
        return this.#dependencies.handleProtocolError(`${packet.type} was not asked for`)
    }
  }

  /** The remote broker has ended the connection. */
  handleDisconnect(reason: number): void {
    if (isForPacket(reason)) this.#forwarding.recordDisconnect()
  }

  /** A part of the keep alive has passed: the remote broker is to say that it is there. */
  ping(): void {
    this.#dependencies.remote.send({ type: 'pingreq' })
    this.#unexpected = 0
  }

  /** Whoever brings more than the other side takes is not read for a while. */
  pauseFasterSide(): void {
    const { remote, local } = this.#dependencies
    if (remote.unsentAnswers > maxUnreadAcks)
      return this.#dependencies.handleProtocolError('it asks for answers and reads none')
    if (remote.unsentBytes > maxUnsentBytes) local.pauseReading()
    if (local.unsentBytes > maxUnsentBytes || !this.#canReceive) remote.pauseReading()
    else if (remote.isReadingPaused) this.resumeReading()
  }

  resumeReading(): void {
    const { remote, local } = this.#dependencies
    if (local.isReadingPaused && remote.unsentBytes <= resumeBelowBytes) local.release()
    if (remote.isReadingPaused && this.#canReceive && local.unsentBytes <= resumeBelowBytes) remote.release()
  }

  /** One more message may be taken in. */
  get #canReceive(): boolean {
    return this.#receiving.unanswered < (this.#dependencies.settings.mostUnanswered ?? Infinity)
  }

  /** Asked for or not, nobody needs a thousand of them between two questions. */
  #countAnswer(type: string): void {
    if (++this.#unexpected > maxUnexpectedPackets) this.#dependencies.handleProtocolError(`a flood of ${type}`)
  }

  #noteUnasked(what: string): void {
    this.#dependencies.counters.unexpected++
    if (++this.#unexpected > maxUnexpectedPackets)
      this.#dependencies.handleProtocolError(`a flood of answers, such as ${what}`)
  }
}

/** Topics are remembered anew with each set of rules. */
function whereOf({ limits }: LocalBroker): { topics: TopicTable; maxTopicLevels: number } {
  return { topics: new TopicTable(maxCachedTopics), maxTopicLevels: limits.maxTopicLevels }
}
