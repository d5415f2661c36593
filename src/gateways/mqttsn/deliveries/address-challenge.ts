// Asks a client to prove its address: REGISTER with an unpredictable message ID, which REGACK repeats. The topic name is short, and stands for
// nothing. Clients that ignore REGISTER, such as emcute of RIOT, prove it by the times of their PINGRESP packets.

import { PingChallenge } from './ping-challenge.ts'
import type { SendingDependencies } from '../model/sn-client-dependencies.ts'

/** Not assigned to a topic: a client has fewer of them. */
const topicId = 0xfffe
const topicName = '$proof'
const messageIds = 0x8000
/** REGACK packets with other message IDs after which a challenge cannot be met. */
const maxGuesses = 16

export class AddressChallenge {
  readonly #gateway: SendingDependencies
  readonly #pings: PingChallenge
  #messageId: number | undefined
  #guesses = 0
  #hasSent = false
  /** Time of the next one. */
  #dueAtMs = Infinity

  constructor(gateway: SendingDependencies) {
    this.#gateway = gateway
    this.#pings = new PingChallenge(gateway)
  }

  get dueAtMs(): number {
    return Math.min(this.#dueAtMs, this.#pings.dueAtMs)
  }

  /** Sends one, unless one is pending. */
  begin(): void {
    if (this.#dueAtMs === Infinity) this.#send()
  }

  /** The client sleeps, or has another address: responses to earlier packets prove nothing. */
  end(): void {
    this.#pings.end()
    this.#messageId = undefined
    this.#dueAtMs = Infinity
  }

  handlePingresp(): void {
    this.#pings.handlePingresp()
  }

  /** Returns true if this REGACK proves the address. */
  isMet(messageId: number): boolean {
    if (this.#messageId === undefined || this.#gateway.isProven) return false
    if (messageId !== this.#messageId) {
      if (++this.#guesses >= maxGuesses) this.#messageId = undefined
      return false
    }
    this.end()
    this.#gateway.recordProof()
    return true
  }

  /** Returns true if something may be sent again: the client has sent more, or has proven its address. */
  tick(): boolean {
    if (this.dueAtMs === Infinity) return false
    if (this.#gateway.isProven || this.#pings.tick()) {
      this.end()
      this.#gateway.recordProof()
      return true
    }
    if (this.#gateway.nowMs() < this.#dueAtMs) return false
    this.#dueAtMs = Infinity
    if (!this.#gateway.isProven) this.#send()
    return true
  }

  #send(): void {
    const { settings, codec } = this.#gateway
    this.#dueAtMs = this.#gateway.nowMs() + settings.retryIntervalMs
    this.#guesses = 0
    const messageId = messageIds + this.#gateway.randomBelow(messageIds)
    const isRepeated = this.#hasSent
    this.#hasSent = true
    // The messages wait.
    if (isRepeated) this.#gateway.counters.dropped.unproven++
    this.#messageId = undefined
    // Otherwise the repetitions of REGISTER would use up what the other packets need.
    if (isRepeated && this.#pings.begin() === 'unaffordable') return
    if (this.#gateway.sendUnasked(codec.register(topicId, messageId, topicName))) this.#messageId = messageId
    if (!isRepeated) this.#pings.begin()
  }
}
