// Topic IDs of one client [6.5]: each stands for a name, in both directions. Configured (predefined) IDs are the same
// for all clients and are not assigned again.

/** Maximum registered names of one client. */
export const maxTopicIds = 4_096
const firstId = 1
const lastId = 0xfffe

export class PredefinedTopics {
  readonly #names: ReadonlyMap<number, string>
  readonly #ids: ReadonlyMap<string, number>

  constructor(topics: readonly { readonly id: number; readonly topic: string }[]) {
    this.#names = new Map(topics.map(({ id, topic }) => [id, topic]))
    this.#ids = new Map(topics.map(({ id, topic }) => [topic, id]))
  }

  nameOf(id: number): string | undefined {
    return this.#names.get(id)
  }

  idOf(name: string): number | undefined {
    return this.#ids.get(name)
  }
}

/** Stores the IDs of a session across restarts. */
export interface TopicIdStore {
  keep(id: number, name: string): void
  whenKept(done: () => void): void
}

export class TopicIds {
  /** Undefined: they end with the connection. */
  store: TopicIdStore | undefined
  readonly #predefined: PredefinedTopics
  readonly #names = new Map<number, string>()
  readonly #ids = new Map<string, number>()
  /** Names whose ID the client knows. */
  readonly #known = new Set<string>()
  #next = firstId

  constructor(predefined: PredefinedTopics) {
    this.#predefined = predefined
  }

  nameOf(id: number): string | undefined {
    return this.#names.get(id)
  }

  /** Returns the ID of the name, and assigns one if needed. Undefined: the limit is reached. */
  register(name: string): number | undefined {
    const known = this.#ids.get(name)
    if (known !== undefined) return known
    if (this.#ids.size >= maxTopicIds) return undefined
    while (this.#names.has(this.#next) || this.#predefined.nameOf(this.#next) !== undefined) this.#advance()
    const id = this.#next
    this.#advance()
    this.#set(id, name)
    this.store?.keep(id, name)
    return id
  }

  /** Restores a stored ID. */
  restore(id: number, name: string): void {
    this.#set(id, name)
  }

  /** Calls back when all assigned IDs are durable, if they are stored. */
  whenKept(done: () => void): void {
    if (this.store === undefined) done()
    else this.store.whenKept(done)
  }

  get ids(): readonly number[] {
    return [...this.#names.keys()]
  }

  #set(id: number, name: string): void {
    this.#names.set(id, name)
    this.#ids.set(name, id)
  }

  /** The client knows this ID. */
  setKnown(name: string): void {
    this.#known.add(name)
  }

  isKnown(name: string): boolean {
    return this.#known.has(name)
  }

  /** The client does not know the ID: it is registered again. */
  setUnknown(id: number): void {
    const name = this.#names.get(id)
    if (name !== undefined) this.#known.delete(name)
  }

  unknownNames(): string[] {
    return [...this.#ids.keys()].filter((name) => !this.#known.has(name))
  }

  /** A client that has reconnected may have lost them. */
  setAllUnknown(): void {
    this.#known.clear()
  }

  #advance(): void {
    this.#next = this.#next >= lastId ? firstId : this.#next + 1
  }
}
