// The generation of each session (see record-keys.ts): a cache of the generation records, which includes the batch that
// is being written. If that write fails, the state on disk is unknown, and the cache is emptied.

import type { StoredChange } from '../../records/index.ts'
import { isSessionKind, type Generation, noGeneration } from '../encoding/record-keys.ts'

/** Beyond this number of client IDs the cache is emptied; entries are read from disk when needed. */
const cacheLimit = 200_000

/** Assigns generations and caches them. */
export class SessionGenerations {
  readonly #known = new Map<string, Generation>()
  #next: Generation

  /** @param firstFree no record on disk has this generation or a higher one */
  constructor(firstFree: Generation) {
    this.#next = firstFree
  }

  /** Returns the client IDs in the changes whose generation is not cached. */
  findUnknown(changes: readonly (StoredChange | undefined)[]): string[] {
    if (this.#known.size > cacheLimit) this.#known.clear()
    const unknown = new Set<string>()
    const addUnknown = (clientId: string): void => {
      if (!this.#known.has(clientId)) unknown.add(clientId)
    }
    // Changes of one session often follow each other.
    let last: string | undefined
    for (const change of changes) {
      if (change === undefined) continue
      if (change.change === 'rename-session') addUnknown(change.to)
      const clientId = findSessionClientId(change)
      if (clientId === undefined || clientId === last) continue
      addUnknown(clientId)
      last = clientId
    }
    return [...unknown]
  }

  /** Caches the generation of a client ID on disk; undefined: none. */
  recordGeneration(clientId: string, generation: Generation | undefined): void {
    this.#known.set(clientId, generation ?? noGeneration)
  }

  /** The last generation that was used. */
  get last(): Generation {
    return this.#next - 1
  }

  /** Returns the generation as the batch sees it, if there is one. */
  find(clientId: string): Generation | undefined {
    const generation = this.#known.get(clientId)
    return generation === noGeneration ? undefined : generation
  }

  /** Assigns a new generation to a session without one. */
  startGeneration(clientId: string): Generation {
    const generation = this.#next++
    this.#known.set(clientId, generation)
    return generation
  }

  /** The session has no generation from now on. */
  endGeneration(clientId: string): void {
    this.#known.set(clientId, noGeneration)
  }

  /** The session moves to another name. */
  rename(clientId: string, to: string, generation: Generation): void {
    this.#known.set(clientId, noGeneration)
    this.#known.set(to, generation)
  }

  /** The batch was not written, or its state is unknown: everything must be read from disk again. */
  clear(): void {
    this.#known.clear()
  }
}

/** Returns the client ID of the session that a change concerns; undefined if it concerns none. */
function findSessionClientId(change: StoredChange): string | undefined {
  if (change.change === 'delete-session' || change.change === 'rename-session') return change.clientId
  const subject = change.change === 'put' ? change.record : change.key
  return isSessionKind(subject.kind) && 'clientId' in subject ? subject.clientId : undefined
}
