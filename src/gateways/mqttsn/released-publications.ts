// QoS 2 messages that were released recently. Datagrams may arrive out of order: a duplicate of PUBLISH after PUBREL is not a new
// message, although its message ID is free. A new message with this ID differs in topic or payload, or arrives later.

import { hash } from 'node:crypto'

export interface Publication {
  readonly topicId: number
  /** Digest of the payload, if the QoS is 2. */
  readonly fingerprint: string
}

/** Maximum delay of a datagram in a network. */
const memoryMs = 2_000
const maxReleased = 8

export class ReleasedPublications {
  readonly #released = new Map<number, Publication & { readonly untilMs: number }>()

  add(messageId: number, publication: Publication, nowMs: number): void {
    this.#released.delete(messageId)
    this.#released.set(messageId, { ...publication, untilMs: nowMs + memoryMs })
    const [oldest] = this.#released.keys()
    if (this.#released.size > maxReleased && oldest !== undefined) this.#released.delete(oldest)
  }

  /** Whether this is a late copy. */
  has(messageId: number, { topicId, fingerprint }: Publication, nowMs: number): boolean {
    const known = this.#released.get(messageId)
    return (
      known !== undefined && nowMs < known.untilMs && known.topicId === topicId && known.fingerprint === fingerprint
    )
  }
}

export function fingerprintOf(payload: Buffer): string {
  return hash('sha1', payload, 'base64')
}
