// Messages of QoS 2 that were released a moment ago. Datagrams overtake each other: a copy of PUBLISH that comes after PUBREL is
// none of a new message, though its message id is free. A new message with this id differs in topic or payload, or comes later.

import { hash } from 'node:crypto'

export interface Publication {
  readonly topicId: number
  /** Digest of the payload, if the QoS is 2. */
  readonly fingerprint: string
}

/** Networks do not hold a datagram back for longer. */
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
