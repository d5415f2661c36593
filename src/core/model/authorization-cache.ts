// Access decisions of a client for topics that it publishes to, so that the next message needs no check. Most clients publish to
// one topic: that one is found without a look-up.
//
//   last ──► Topic, decisions       others:  Topic ──► decisions,  Topic ──► decisions, ...   (at most `maxCachedTopics`)
//
//   decisions: two bits for each QoS with and without the retain flag: 0 unknown, 1 allow, 2 deny, 3 disconnect

import type { Permission } from '../messages/identity.ts'
import type { QoS, Topic } from '../../protocol/index.ts'

/** Maximum number of cached topics of one client. */
const maxCachedTopics = 64

const authorizationCache = [undefined, 'allow', 'deny', 'disconnect'] as const

export interface PublishOptions {
  readonly qos: QoS
  readonly retain: boolean
}

export interface CachedAuthorization {
  readonly topic: string
  readonly qos: QoS
  readonly retain: boolean
  readonly permission: Exclude<Permission, 'unknown'>
}

export class AuthorizationCache {
  #epoch = -1
  #lastTopic: Topic | undefined = undefined
  #lastPermissions = 0
  readonly #others = new Map<Topic, number>()

  /** Returns undefined if nothing is known, or if the entry is of an earlier epoch. */
  get(topic: Topic, options: PublishOptions, epoch: number): Permission | undefined {
    if (epoch !== this.#epoch) this.#forget(epoch)
    if (topic !== this.#lastTopic) this.#selectTopic(topic)
    return authorizationCache[(this.#lastPermissions >> computeShift(options)) & 3]
  }

  /** Sets the decision for the topic of the last `get`. */
  set(options: PublishOptions, permission: Exclude<Permission, 'unknown'>): void {
    this.#lastPermissions |= authorizationCache.indexOf(permission) << computeShift(options)
  }

  /** Returns all entries. Entries of an earlier epoch are requested again when they are needed. */
  *walkEntries(): IterableIterator<CachedAuthorization> {
    if (this.#lastTopic !== undefined) yield* walkPermissions(this.#lastTopic, this.#lastPermissions)
    for (const [topic, bits] of this.#others) if (topic !== this.#lastTopic) yield* walkPermissions(topic, bits)
  }

  #forget(epoch: number): void {
    this.#epoch = epoch
    this.#lastPermissions = 0
    this.#others.clear()
  }

  #selectTopic(topic: Topic): void {
    if (this.#lastTopic !== undefined && this.#lastPermissions !== 0) {
      if (this.#others.size >= maxCachedTopics) this.#others.clear()
      this.#others.set(this.#lastTopic, this.#lastPermissions)
    }
    this.#lastTopic = topic
    this.#lastPermissions = this.#others.get(topic) ?? 0
  }
}

function* walkPermissions({ name }: Topic, bits: number): IterableIterator<CachedAuthorization> {
  for (const qos of [0, 1, 2] as const) {
    for (const retain of [false, true]) {
      const permission = authorizationCache[(bits >> computeShift({ qos, retain })) & 3]
      if (permission !== undefined) yield { topic: name, qos, retain, permission }
    }
  }
}

function computeShift(options: PublishOptions): number {
  return options.qos * 4 + (options.retain ? 2 : 0)
}
