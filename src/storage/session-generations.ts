// Which life each session is in (see record-keys.ts): a cache of the life records, ahead of the disk by the batch that
// is being written. If that fails nobody knows what the disk has, and all is forgotten.

import type { StoredChange } from '../records/index.ts'
import { isSessionKind, type Life, noLife } from './record-keys.ts'

/** Beyond so many client ids the cache is emptied; what is needed comes back from the disk. */
const cacheLimit = 200_000

/** Gives out lives and remembers them. */
export class SessionLives {
  readonly #known = new Map<string, Life>()
  #next: Life

  /** @param firstFree no record on disk is keyed by this life or a higher one */
  constructor(firstFree: Life) {
    this.#next = firstFree
  }

  /** The client ids among the changes of which it is not known whether they have a life. */
  unknownIn(changes: readonly (StoredChange | undefined)[]): string[] {
    if (this.#known.size > cacheLimit) this.#known.clear()
    const unknown = new Set<string>()
    for (const change of changes) {
      for (const clientId of change === undefined ? [] : sessionsOf(change))
        if (!this.#known.has(clientId)) unknown.add(clientId)
    }
    return [...unknown]
  }

  /** What the disk says of a client id; undefined: no life. */
  learn(clientId: string, life: Life | undefined): void {
    this.#known.set(clientId, life ?? noLife)
  }

  /** The last life that was given out. */
  get last(): Life {
    return this.#next - 1
  }

  /** The life that the batch sees, if there is one. */
  find(clientId: string): Life | undefined {
    const life = this.#known.get(clientId)
    return life === noLife ? undefined : life
  }

  /** A new life for a session without one. */
  begin(clientId: string): Life {
    const life = this.#next++
    this.#known.set(clientId, life)
    return life
  }

  /** The session has no life from here on. */
  end(clientId: string): void {
    this.#known.set(clientId, noLife)
  }

  /** The session of the one is that of the other from here on. */
  rename(clientId: string, to: string, life: Life): void {
    this.#known.set(clientId, noLife)
    this.#known.set(to, life)
  }

  /** The batch is not written, or nobody knows: everything is to be asked of the disk again. */
  forget(): void {
    this.#known.clear()
  }
}

/** The client ids of the sessions that a change is about. */
function sessionsOf(change: StoredChange): readonly string[] {
  if (change.change === 'delete-session') return [change.clientId]
  if (change.change === 'rename-session') return [change.clientId, change.to]
  const subject = change.change === 'put' ? change.record : change.key
  return isSessionKind(subject.kind) && 'clientId' in subject ? [subject.clientId] : []
}
