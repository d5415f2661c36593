// Asks a client to prove its address: REGISTER with an unpredictable message ID, which REGACK repeats. MQTT-SN has no other packet to which
// every client responds with something that it must have received. The topic name is short, and stands for nothing.

import type { SnClientDependencies } from './sn-client-dependencies.ts'

/** Not assigned to a topic: a client has fewer of them. */
const topicId = 0xfffe
const topicName = '$proof'
const messageIds = 0x8000
/** REGACK packets with other message IDs after which a challenge cannot be met. */
const maxGuesses = 16

type Gateway = Pick<
  SnClientDependencies,
  'settings' | 'codec' | 'nowMs' | 'sendUnasked' | 'isProven' | 'noteProven' | 'randomBelow'
>

export class AddressChallenge {
  readonly #gateway: Gateway
  #messageId: number | undefined
  #guesses = 0
  /** Time of the next one. */
  #dueAtMs = Infinity

  constructor(gateway: Gateway) {
    this.#gateway = gateway
  }

  get dueAtMs(): number {
    return this.#dueAtMs
  }

  /** Sends one, unless one is pending. */
  begin(): void {
    if (this.#dueAtMs === Infinity) this.#send()
  }

  /** Returns true if this REGACK proves the address. */
  isMet(messageId: number): boolean {
    if (this.#messageId === undefined || this.#gateway.isProven) return false
    if (messageId !== this.#messageId) {
      if (++this.#guesses >= maxGuesses) this.#messageId = undefined
      return false
    }
    this.#messageId = undefined
    this.#dueAtMs = Infinity
    this.#gateway.noteProven()
    return true
  }

  /** Returns true if something may be sent again: the client has sent more, or has proven its address. */
  tick(): boolean {
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
    this.#messageId = this.#gateway.sendUnasked(codec.register(topicId, messageId, topicName)) ? messageId : undefined
  }
}
