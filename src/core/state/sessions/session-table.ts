// All sessions: found by client id, and walked by place, so that whoever looks at all of them may stop anywhere and go on
// later.
//
//   by client id:  Map                  places:  [ session | - | session | session | - ]       free: [ 4, 1 ]
//
// A session keeps its place as long as it lives, and the next one takes a place that has become free. So a walk along the
// places finds each session once that is there from its beginning to its end; of those that come or go meanwhile it may
// find some. A place is a number: it costs nothing to remember one, and it may be forgotten.

import type { MemoryAccount } from '../../model/memory-account.ts'
import type { Session } from './session.ts'

const nowhere = -1
/** A session with nothing in it, and its entries here. */
const emptySessionBytes = 1_024

export class SessionTable {
  readonly #byClientId = new Map<string, Session>()
  #places: (Session | undefined)[] = []
  #free: number[] = []
  readonly #memory: MemoryAccount

  constructor(memory: MemoryAccount) {
    this.#memory = memory
  }

  get size(): number {
    return this.#byClientId.size
  }

  /** One more than the last place that may be taken. */
  get places(): number {
    return this.#places.length
  }

  get(clientId: string): Session | undefined {
    return this.#byClientId.get(clientId)
  }

  has(clientId: string): boolean {
    return this.#byClientId.has(clientId)
  }

  /** Undefined where the place is free. */
  at(place: number): Session | undefined {
    return this.#places[place]
  }

  values(): IterableIterator<Session> {
    return this.#byClientId.values()
  }

  /** Does nothing where it is there already. */
  add(session: Session): void {
    if (session.place !== nowhere) return
    session.place = this.#free.pop() ?? this.#places.length
    this.#places[session.place] = session
    this.#byClientId.set(session.clientId, session)
    this.#memory.add('sessions', sessionBytes(session))
  }

  /** Does nothing where it is not there. */
  remove(session: Session): void {
    if (session.place === nowhere) return
    this.#byClientId.delete(session.clientId)
    this.#memory.add('sessions', -sessionBytes(session))
    this.#places[session.place] = undefined
    this.#free.push(session.place)
    session.place = nowhere
    if (this.#byClientId.size > 0) return
    this.#places = []
    this.#free = []
  }
}

/** What it counts for in memory by itself, without its messages. */
export function sessionBytes({ clientId }: Session): number {
  return emptySessionBytes + clientId.length
}
