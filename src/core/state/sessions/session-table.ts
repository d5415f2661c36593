// All sessions, found by client ID and enumerated by place, so that a walk over all of them may stop and continue anywhere.
//
//   by client id:  Map                  places:  [ session | - | session | session | - ]       free: [ 4, 1 ]
//
// A session keeps its place as long as it exists; a new one takes a free place. So a walk along the places visits each session
// once that exists during the whole walk, and possibly some that start or end meanwhile. The position of a walk is a number, which
// needs no memory and no cleanup.

import type { MemoryAccount } from '../../model/memory-account.ts'
import type { Session } from './session.ts'

const nowhere = -1
/** An empty session and its entries here. */
const emptySessionBytes = 1_024

export class SessionTable {
  readonly #byClientId = new Map<string, Session>()
  #places: (Session | undefined)[] = []
  #free: number[] = []
  /** Number of sessions whose client is connected. */
  connected = 0
  /** Persistent sessions whose queue is full, and whose publishers wait or are refused. */
  readonly full = new Set<Session>()
  /** Persistent sessions of clients with a queue of 80 % of the limit or more. */
  readonly nearlyFull = new Set<Session>()
  /** Place of the next session whose memory is relieved; undefined: none. See `memory/memory-relief.ts`. */
  reliefFrom: number | undefined = undefined
  readonly #memory: MemoryAccount

  constructor(memory: MemoryAccount) {
    this.#memory = memory
  }

  get size(): number {
    return this.#byClientId.size
  }

  /** One more than the highest occupied place. */
  get places(): number {
    return this.#places.length
  }

  get(clientId: string): Session | undefined {
    return this.#byClientId.get(clientId)
  }

  has(clientId: string): boolean {
    return this.#byClientId.has(clientId)
  }

  /** Undefined if the place is free. */
  at(index: number): Session | undefined {
    return this.#places[index]
  }

  values(): IterableIterator<Session> {
    return this.#byClientId.values()
  }

  /** Does nothing if the session is present. */
  add(session: Session): void {
    if (session.place !== nowhere) return
    session.place = this.#free.pop() ?? this.#places.length
    this.#places[session.place] = session
    this.#byClientId.set(session.clientId, session)
    this.#memory.add('sessions', measureSession(session))
  }

  /** Does nothing if the session is not present. */
  remove(session: Session): void {
    if (session.place === nowhere) return
    this.#byClientId.delete(session.clientId)
    this.#memory.add('sessions', -measureSession(session))
    this.#places[session.place] = undefined
    this.#free.push(session.place)
    session.place = nowhere
    if (this.#byClientId.size > 0) return
    this.#places = []
    this.#free = []
  }
}

/** Returns the memory of a session without its messages. */
export function measureSession({ clientId }: Session): number {
  return emptySessionBytes + clientId.length
}
