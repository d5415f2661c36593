// Wills that are to be published and whose messages are read from disk. The wills of one client are read and published one after
// the other, in the order in which they became due.

/** A will on its way from disk to its subscribers. */
export interface WillLoad<Session extends object, Message extends object> {
  /** The client ID of its publisher. */
  readonly clientId: string
  /** The name of its record. */
  readonly name: string
  /** Undefined: it is to be read. Otherwise the will only waits for an earlier will of the same client. */
  readonly message: Message | undefined
  /** The session that it belongs to or belonged to; undefined: known from a record only. */
  readonly session: Session | undefined
}

export class WillLoads<Session extends object, Message extends object> {
  readonly #byClient = new Map<string, WillLoad<Session, Message>[]>()

  get isEmpty(): boolean {
    return this.#byClient.size === 0
  }

  /** An earlier will of this client is not published yet. */
  has(clientId: string): boolean {
    return this.#byClient.has(clientId)
  }

  /** True: no earlier will of this client has to be published first. */
  add(load: WillLoad<Session, Message>): boolean {
    const loads = this.#byClient.get(load.clientId)
    if (loads === undefined) this.#byClient.set(load.clientId, [load])
    else loads.push(load)
    return loads === undefined
  }

  /** Removes the first will of its client, which has been published. Returns the next will of this client. */
  end(load: WillLoad<Session, Message>): WillLoad<Session, Message> | undefined {
    const loads = this.#byClient.get(load.clientId)
    // It was dropped while it was being read.
    if (loads?.[0] !== load) return undefined
    loads.shift()
    if (loads.length === 0) this.#byClient.delete(load.clientId)
    return loads[0]
  }

  /** It was not dropped while it was being read. */
  isFirst(load: WillLoad<Session, Message>): boolean {
    return this.#byClient.get(load.clientId)?.[0] === load
  }

  /** Removes all wills of the clients that `isOf` selects. */
  drop(isOf: (clientId: string) => boolean): WillLoad<Session, Message>[] {
    const dropped: WillLoad<Session, Message>[] = []
    for (const [clientId, loads] of this.#byClient) {
      if (!isOf(clientId)) continue
      dropped.push(...loads)
      this.#byClient.delete(clientId)
    }
    return dropped
  }
}
