// One connection that many requests share. The first request opens it; after a failure or a missing response, the next request opens
// another one, with a new lookup of the host name.

import {
  type ConnectionDriver,
  type ConnectionLimits,
  type OpenConnection,
  type Opening,
  openWithTimeout,
} from './open-service-connection.ts'

/** The reason why requests in progress fail when an action is stopped, changed or restarted. */
export const stoppedReason = 'the action is being stopped'

export class SharedConnection<Connection> {
  readonly #driver: ConnectionDriver<Connection>
  readonly #limits: ConnectionLimits
  #opening: Opening<Connection> | undefined
  #current: OpenConnection<Connection> | undefined
  #isClosed = false

  constructor(driver: ConnectionDriver<Connection>, limits: ConnectionLimits) {
    this.#driver = driver
    this.#limits = limits
  }

  /** Runs one request. Rejects if no connection opens within connectTimeoutMs, or there is no response within requestTimeoutMs. */
  async use<Value>(work: (connection: Connection) => Promise<Value>): Promise<Value> {
    const connection = this.#findUsable() ?? (await this.#open())
    return await connection.run(work, this.#limits.requestTimeoutMs)
  }

  /** Closes the connection permanently. Requests in progress reject. */
  close(): void {
    this.#isClosed = true
    const why = new Error(stoppedReason)
    this.#opening?.cancel(why)
    this.#current?.end(why)
    this.#current = undefined
  }

  #findUsable(): OpenConnection<Connection> | undefined {
    if (this.#current?.isUsable === true) return this.#current
    this.#current?.destroy(new Error('the connection has ended'))
    this.#current = undefined
    return undefined
  }

  /** All requests wait for the same connection. */
  async #open(): Promise<OpenConnection<Connection>> {
    if (this.#isClosed) throw new Error(stoppedReason)
    const opening = (this.#opening ??= openWithTimeout(this.#driver, this.#limits.connectTimeoutMs))
    try {
      const connection = await opening.opened
      // Another request that waited may have replaced it already.
      if (this.#opening === opening) this.#current = connection
      return connection
    } finally {
      if (this.#opening === opening) this.#opening = undefined
    }
  }
}
