// Which life each session is in (see record-keys.ts): a cache of the life records, ahead of the disk by the batch that
// is being written. If that fails nobody knows what the disk has, and all is forgotten.

import type { StoredChange } from '../records/index.ts'
import { isSessionKind, type Generation, noGeneration } from './record-keys.ts'

/** Beyond so many client ids the cache is emptied; what is needed comes back from the disk. */
const cacheLimit = 200_000

/** Gives out lives and remembers them. */
export class SessionGenerations {
  readonly #known = new Map<string, Generation>()
  #next: Generation

  /** @param firstFree no record on disk is keyed by this life or a higher one */
  constructor(firstFree: Generation) {
    this.#next = firstFree
  }

  /** The client ids among the changes of which it is not known whether they have a life. */
  findUnknown(changes: readonly (StoredChange | undefined)[]): string[] {
    if (this.#known.size > cacheLimit) this.#known.clear()
    const unknown = new Set<string>()
    for (const change of changes) {
      for (const clientId of change === undefined ? [] : sessionsOf(change))
        if (!this.#known.has(clientId)) unknown.add(clientId)
    }
    return [...unknown]
  }

  /** What the disk says of a client id; undefined: no life. */
  recordGeneration(clientId: string, generation: Generation | undefined): void {
    this.#known.set(clientId, generation ?? noGeneration)
  }

  /** The last life that was given out. */
  get last(): Generation {
    return this.#next - 1
  }

  /** The life that the batch sees, if there is one. */
  find(clientId: string): Generation | undefined {
    const generation = this.#known.get(clientId)
    return generation === noGeneration ? undefined : generation
  }

  /** A new life for a session without one. */
  startGeneration(clientId: string): Generation {
    const generation = this.#next++
    this.#known.set(clientId, generation)
    return generation
  }

  /** The session has no life from here on. */
  endGeneration(clientId: string): void {
    this.#known.set(clientId, noGeneration)
  }

  /** The session of the one is that of the other from here on. */
  rename(clientId: string, to: string, generation: Generation): void {
    this.#known.set(clientId, noGeneration)
    this.#known.set(to, generation)
  }

  /** The batch is not written, or nobody knows: everything is to be asked of the disk again. */
  clear(): void {
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
