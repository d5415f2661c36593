// Topics that the gateway registers with one MQTT-SN client: REGISTER, repeated until REGACK arrives.

import type { AddressChallenge } from './address-challenge.ts'
import type { SendingDependencies } from '../model/sn-client-dependencies.ts'
import type { TopicIds } from '../model/topic-ids.ts'

/** Maximum pending registrations that the client did not request. */
const maxRegistrationsAhead = 4
const maxMessageId = 0xffff
const registrationIds = 0x8000

interface Registration {
  readonly topicId: number
  readonly messageId: number
  /** Whether REGACK proves the present address of the client. */
  provesAddress: boolean
  attempts: number
  dueAtMs: number
}

export class TopicRegistrations {
  readonly #gateway: SendingDependencies
  readonly #client: { readonly topicIds: TopicIds }
  readonly #challenge: AddressChallenge
  /** By topic. */
  readonly #pending = new Map<string, Registration>()
  /** Names to register without a message. */
  #ahead: string[] = []
  #nextMessageId = maxMessageId

  constructor(gateway: SendingDependencies, client: { readonly topicIds: TopicIds }, challenge: AddressChallenge) {
    this.#gateway = gateway
    this.#client = client
    this.#challenge = challenge
  }

  /** Time at which `tick` must be called. */
  get dueAtMs(): number {
    let dueAtMs = Infinity
    for (const { dueAtMs: atMs } of this.#pending.values()) dueAtMs = Math.min(dueAtMs, atMs)
    return dueAtMs
  }

  /** Sends REGISTER, unless one is pending for the topic. */
  register(topic: string, topicId: number): void {
    if (this.#pending.has(topic)) return
    // Then its message ID is unpredictable.
    const provesAddress = !this.#gateway.isProven
    const messageId = this.#takeMessageId()
    const isSent = this.#gateway.sendUnasked(this.#gateway.codec.register(topicId, messageId, topic))
    // A short one may be sent instead of one that is too long.
    if (!isSent) return this.#challenge.begin()
    this.#pending.set(topic, { topicId, messageId, provesAddress, attempts: 0, dueAtMs: this.#retryAtMs() })
  }

  /** All topic IDs of the session will be registered, a few at a time. */
  planAll(): void {
    this.#ahead = this.#client.topicIds.listUnknownNames()
  }

  /** Registers the next topic IDs of `planAll`. */
  registerNext(): void {
    while (this.#pending.size < maxRegistrationsAhead) {
      const topic = this.#ahead.shift()
      if (topic === undefined) return
      const topicId = this.#client.topicIds.register(topic)
      if (topicId !== undefined && !this.#client.topicIds.isKnown(topic)) this.register(topic, topicId)
    }
  }

  /** Handles REGACK. Returns the topic that it acknowledges; undefined: none. */
  handleRegack(messageId: number, topicId: number): string | undefined {
    const topic = this.#client.topicIds.findName(topicId)
    const registration = topic === undefined ? undefined : this.#pending.get(topic)
    if (topic === undefined || registration === undefined || registration.messageId !== messageId) return undefined
    this.#pending.delete(topic)
    if (registration.provesAddress) this.#gateway.recordProof()
    return topic
  }

  /** Returns false if the maximum of repetitions is reached: the client is lost. */
  tick(): boolean {
    const { settings, codec, counters } = this.#gateway
    const nowMs = this.#gateway.nowMs()
    for (const [topic, registration] of this.#pending) {
      if (nowMs < registration.dueAtMs) continue
      if (registration.attempts >= settings.maxRetries) return false
      registration.dueAtMs = this.#retryAtMs()
      const isSent = this.#gateway.sendUnasked(codec.register(registration.topicId, registration.messageId, topic))
      if (!isSent) continue
      registration.attempts++
      counters.retransmitted++
    }
    return true
  }

  /** The client has another address: REGACK of a packet that was sent to the previous one proves nothing. */
  handleMove(): void {
    for (const registration of this.#pending.values()) registration.provesAddress = false
  }

  /** Forgets pending registrations, because the client sleeps. */
  clear(): void {
    this.#pending.clear()
  }

  /** From the upper half, which the publications of few clients reach. */
  #takeMessageId(): number {
    if (!this.#gateway.isProven) return registrationIds + this.#gateway.randomBelow(registrationIds)
    const messageId = this.#nextMessageId
    this.#nextMessageId = messageId <= registrationIds ? maxMessageId : messageId - 1
    return messageId
  }

  #retryAtMs(): number {
    return this.#gateway.nowMs() + this.#gateway.settings.retryIntervalMs
  }
}
