// Opens a connection to a service when it is first needed. After a failure, the next request opens it again.

export class LazyConnection<Connection> {
  readonly #open: () => Promise<Connection>
  readonly #close: (connection: Connection) => unknown
  #connection: Promise<Connection> | undefined
  #isClosed = false

  /** `close` may reject: the connection is not used again. */
  constructor(open: () => Promise<Connection>, close: (connection: Connection) => unknown) {
    this.#open = open
    this.#close = close
  }

  /** Returns the open connection, or opens one. `isUsable`: if it returns false, the open connection is replaced. */
  async get(isUsable: (connection: Connection) => boolean = () => true): Promise<Connection> {
    if (this.#isClosed) throw new Error('the action is being stopped')
    const current = this.#connection
    const known = await current
    // Another request may have replaced the connection meanwhile.
    if (known !== undefined && current === this.#connection && !isUsable(known)) this.#discard()
    this.#connection ??= this.#open().catch((error: unknown) => {
      this.#connection = undefined
      throw error
    })
    return await this.#connection
  }

  /** Closes the connection permanently. Requests in progress fail. */
  close(): void {
    this.#isClosed = true
    this.#discard()
  }

  #discard(): void {
    const connection = this.#connection
    this.#connection = undefined
    // The connection is not used any more, so its error has no receiver.
    connection?.then((open) => this.#close(open)).catch(() => {})
  }
}
