// While both sides are there: what goes over, in both directions, and who is held back.

import { TopicTable, type ConnackPacket, type Packet } from '../protocol/index.ts'
import { limitsOf } from './connect-remote.ts'
import type { ConnectionLook } from './connection-monitor.ts'
import type { ForwardPlaces } from './forward-slots.ts'
import { Forwarding } from './forwarding.ts'
import { HopMark, nameIn } from './loop-marker.ts'
import type { PacketLink } from './packet-link.ts'
import { isForPacket, type Refusals } from './rejected-messages.ts'
import { Receiving } from './receiving.ts'
import { forwardBook, type OpenTopics, subscriptionBook } from './rule-book.ts'
import type { BridgeSettings } from './settings.ts'
import type { BridgeCounters } from './status.ts'
import type { LocalBroker } from './world.ts'

/** What waits to be written to one side: beyond it the other side is not read. */
const maxUnsentBytes = 1_048_576
/** It is read again when so much is left. */
const roomFromBytes = maxUnsentBytes / 2
/** So many packets that nothing had asked for, in a part of the keep alive, and the remote broker is out of order. */
const mostUnasked = 1_000
/** Whoever keeps to packet ids cannot be owed so many: each is free again only when its answer has been read. */
const mostUnreadAnswers = 200_000
/** Topics that each side remembers with what becomes of them. */
export const topicsRemembered = 65_536

export interface CrossingParts {
  readonly local: PacketLink
  readonly remote: PacketLink
  readonly connack: ConnackPacket
  /** Of our own broker. */
  readonly connackHere: ConnackPacket
  readonly settings: BridgeSettings
  readonly broker: LocalBroker
  readonly counters: BridgeCounters
  readonly refusals: Refusals
  /** What clients here are subscribed to, of a bridge that passes that on. */
  readonly open: OpenTopics
  readonly places: ForwardPlaces
  /** Messages can not go on: the connection is to be made anew after a while, and they come again. */
  startOver(why: string): void
  /** The remote broker breaks the protocol. */
  breach(text: string): void
}

export class Crossing {
  readonly #parts: CrossingParts
  readonly #forwarding: Forwarding
  readonly #receiving: Receiving
  #unasked = 0
  #isDraining = false

  constructor(parts: CrossingParts) {
    this.#parts = parts
    const { local, remote, connack, settings, broker, counters, refusals, places } = parts
    const { brokerId, forwards, subscriptions, topicAliasMaximum } = settings
    const shared = { local, remote, counters, mark: new HopMark(brokerId, nameIn(connack)) }
    const where = whereOf(broker)
    const owner = {
      startOver: (why: string) => parts.startOver(`the remote broker: ${why}`),
      noteUnasked: (what: string) => this.#noteUnasked(what),
    }
    const limits = limitsOf(connack, settings)
    const forwarding = { ...shared, limits, refusals, owner, places }
    this.#forwarding = new Forwarding(forwarding, forwardBook(forwards, where, places.of(forwards)))
    const noteBreach = (text: string): void => parts.breach(text)
    const { maxPropertyBytes } = broker.limits
    const retainAvailable = parts.connackHere.properties?.retainAvailable ?? true
    const receiving = { ...shared, ...owner, topicAliasMaximum, maxPropertyBytes, retainAvailable, noteBreach }
    const book = subscriptionBook(subscriptions, where, parts.open)
    this.#receiving = new Receiving(receiving, book, broker.standing().unreleased)
    if (!connack.sessionPresent) this.#receiving.forgetOld()
  }

  get inFlight(): number {
    return this.#forwarding.inFlight
  }

  /** How far it has come. */
  get progress(): ConnectionLook {
    const { isHeld, unsentBytes } = this.#parts.remote
    const { inFlight, answers } = this.#forwarding
    return { inFlight, answers, isHeld, unsentBytes }
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
  use({ forwards, subscriptions }: BridgeSettings): void {
    const { broker, places, open } = this.#parts
    const where = whereOf(broker)
    this.#forwarding.book = forwardBook(forwards, where, places.of(forwards))
    this.#receiving.book = subscriptionBook(subscriptions, where, open)
  }

  takeFromHere(packet: Packet): void {
    switch (packet.type) {
      case 'publish':
        return this.#isDraining ? undefined : this.#forwarding.publish(packet)
      case 'pubrel':
        return this.#forwarding.release(packet.packetId)
      case 'puback':
      case 'pubrec':
      case 'pubcomp':
        return this.#receiving.take(packet)
      default:
    }
  }

  takeFromThere(packet: Packet): void {
    switch (packet.type) {
      case 'publish':
        return this.#receiving.publish(packet)
      case 'pubrel':
        return this.#receiving.release(packet.packetId)
      case 'puback':
      case 'pubrec':
      case 'pubcomp':
        return this.#forwarding.take(packet)
      case 'pingresp':
      case 'suback':
      case 'unsuback':
        return this.#countAnswer(packet.type)
      default:
        return this.#parts.breach(`${packet.type} was not asked for`)
    }
  }

  /** The remote broker has ended the connection. */
  noteEnd(reason: number): void {
    if (isForPacket(reason)) this.#forwarding.noteBlame()
  }

  /** A part of the keep alive has passed: the remote broker is to say that it is there. */
  askForLife(): void {
    this.#parts.remote.send({ type: 'pingreq' })
    this.#unasked = 0
  }

  /** Whoever brings more than the other side takes is not read for a while. */
  holdWhoeverIsAhead(): void {
    const { remote, local } = this.#parts
    if (remote.unsentAnswers > mostUnreadAnswers) return this.#parts.breach('it asks for answers and reads none')
    if (remote.unsentBytes > maxUnsentBytes) local.hold()
    if (local.unsentBytes > maxUnsentBytes || !this.#hasRoom) remote.hold()
    else if (remote.isHeld) this.letGoOn()
  }

  letGoOn(): void {
    const { remote, local } = this.#parts
    if (local.isHeld && remote.unsentBytes <= roomFromBytes) local.release()
    if (remote.isHeld && this.#hasRoom && local.unsentBytes <= roomFromBytes) remote.release()
  }

  /** One more message may be taken in. */
  get #hasRoom(): boolean {
    return this.#receiving.unanswered < (this.#parts.settings.mostUnanswered ?? Infinity)
  }

  /** Asked for or not, nobody needs a thousand of them between two questions. */
  #countAnswer(type: string): void {
    if (++this.#unasked > mostUnasked) this.#parts.breach(`a flood of ${type}`)
  }

  #noteUnasked(what: string): void {
    this.#parts.counters.unasked++
    if (++this.#unasked > mostUnasked) this.#parts.breach(`a flood of answers, such as ${what}`)
  }
}

/** Topics are remembered anew with each set of rules. */
function whereOf({ limits }: LocalBroker): { topics: TopicTable; maxTopicLevels: number } {
  return { topics: new TopicTable(topicsRemembered), maxTopicLevels: limits.maxTopicLevels }
}
