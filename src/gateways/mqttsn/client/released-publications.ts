// QoS 2 messages that were released recently. Datagrams may arrive out of order: a duplicate of PUBLISH after PUBREL is not a new
// message, although its message ID is free. A new message with this ID differs in topic or payload, or arrives later.

import { hash } from 'node:crypto'

export interface Publication {
  readonly topicId: number
  /** Digest of the payload, if the QoS is 2. */
  readonly fingerprint: string
}

/** EXCHANGE_LIFETIME of CoAP [RFC 7252 4.8.2]: the time within which a network may deliver a copy. MQTT-SN has no such value. */
const memoryMs = 247_000
/** A client that uses its message IDs again at once may send the same message again: then only a copy can be this fast. */
const memoryOfReusedIdMs = 2_000
const maxReleased = 256

export class ReleasedPublications {
  readonly #released = new Map<number, Publication & { readonly atMs: number }>()
  #reusesIds = false

  add(messageId: number, publication: Publication, nowMs: number): void {
    this.#released.delete(messageId)
    this.#released.set(messageId, { ...publication, atMs: nowMs })
    const [oldest] = this.#released.keys()
    if (this.#released.size > maxReleased && oldest !== undefined) this.#released.delete(oldest)
  }

  /** Whether this is a late copy. Otherwise it is a new message. */
  has(messageId: number, { topicId, fingerprint }: Publication, nowMs: number): boolean {
    const known = this.#released.get(messageId)
    if (known === undefined || nowMs >= known.atMs + memoryMs) return false
    const isSame = known.topicId === topicId && known.fingerprint === fingerprint
    if (!isSame) this.#reusesIds = true
    return isSame && (!this.#reusesIds || nowMs < known.atMs + memoryOfReusedIdMs)
  }
}

export function computeFingerprint(payload: Buffer): string {
  return hash('sha1', payload, 'base64')
}
