// A connection to a service that is opened when it is first needed. What fails is opened anew by the next who needs it.

export class LazyConnection<Connection> {
  readonly #open: () => Promise<Connection>
  readonly #close: (connection: Connection) => unknown
  #connection: Promise<Connection> | undefined
  #isClosed = false

  /** `close` may fail: what it closes is given up anyway. */
  constructor(open: () => Promise<Connection>, close: (connection: Connection) => unknown) {
    this.#open = open
    this.#close = close
  }

  /** `isUsable`: false gives up the one that is open. */
  async get(isUsable: (connection: Connection) => boolean = () => true): Promise<Connection> {
    if (this.#isClosed) throw new Error('the action is being stopped')
    const asked = this.#connection
    const known = await asked
    // Somebody else may have given it up meanwhile.
    if (known !== undefined && asked === this.#connection && !isUsable(known)) this.#giveUp()
    this.#connection ??= this.#open().catch((error: unknown) => {
      this.#connection = undefined
      throw error
    })
    return await this.#connection
  }

  /** For good. What is under way fails with the connection. */
  close(): void {
    this.#isClosed = true
    this.#giveUp()
  }

  #giveUp(): void {
    const connection = this.#connection
    this.#connection = undefined
    // Nobody is left who could be told, and nobody uses it any more.
    connection?.then((open) => this.#close(open)).catch(() => {})
  }
}
