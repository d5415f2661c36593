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

  findName(id: number): string | undefined {
    return this.#names.get(id)
  }

  findId(name: string): number | undefined {
    return this.#ids.get(name)
  }
}

/** Stores the IDs of a session across restarts. */
export interface TopicIdStore {
  add(id: number, name: string): void
  runWhenDurable(done: () => void): void
}

interface RegisteredTopic {
  readonly id: number
  readonly name: string
  /** True if the client knows the ID. */
  isKnown: boolean
}

export class TopicIds {
  /** Undefined: the IDs end with the connection. */
  store: TopicIdStore | undefined
  readonly #predefined: PredefinedTopics
  /** Undefined until the first registration: most clients use predefined IDs or few names. */
  #byId: Map<number, RegisteredTopic> | undefined
  #byName: Map<string, RegisteredTopic> | undefined
  #next = firstId

  constructor(predefined: PredefinedTopics) {
    this.#predefined = predefined
  }

  findName(id: number): string | undefined {
    return this.#byId?.get(id)?.name
  }

  /** Returns the ID of the name, and assigns one if needed. Undefined: the limit is reached. */
  register(name: string): number | undefined {
    const known = this.#byName?.get(name)
    if (known !== undefined) return known.id
    if ((this.#byName?.size ?? 0) >= maxTopicIds) return undefined
    while (this.#byId?.has(this.#next) === true || this.#predefined.findName(this.#next) !== undefined) this.#advance()
    const id = this.#next
    this.#advance()
    this.#add(id, name)
    this.store?.add(id, name)
    return id
  }

  /** Restores a stored ID. */
  restore(id: number, name: string): void {
    this.#add(id, name)
  }

  /** Calls back when all assigned IDs are durable; at once if the IDs are not stored. */
  runWhenDurable(done: () => void): void {
    if (this.store === undefined) done()
    else this.store.runWhenDurable(done)
  }

  get ids(): readonly number[] {
    return [...(this.#byId?.keys() ?? [])]
  }

  #add(id: number, name: string): void {
    const topic: RegisteredTopic = { id, name, isKnown: false }
    this.#byId ??= new Map()
    this.#byName ??= new Map()
    this.#byId.set(id, topic)
    this.#byName.set(name, topic)
  }

  /** Called when the client has acknowledged the ID of this name. */
  setKnown(name: string): void {
    const topic = this.#byName?.get(name)
    if (topic !== undefined) topic.isKnown = true
  }

  isKnown(name: string): boolean {
    return this.#byName?.get(name)?.isKnown === true
  }

  /** Called when the client does not know the ID, which is then registered again. */
  setUnknown(id: number): void {
    const topic = this.#byId?.get(id)
    if (topic !== undefined) topic.isKnown = false
  }

  listUnknownNames(): string[] {
    return [...(this.#byName?.values() ?? [])].flatMap(({ name, isKnown }) => (isKnown ? [] : [name]))
  }

  /** Called when the client has reconnected: it may have lost the IDs. */
  setAllUnknown(): void {
    for (const topic of this.#byName?.values() ?? []) topic.isKnown = false
  }

  #advance(): void {
    this.#next = this.#next >= lastId ? firstId : this.#next + 1
  }
}
