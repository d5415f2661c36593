// Connections for reads. All of them are to the server that confirmed the last start of the shard writer: another server, or the same one
// after a restart, may show what was never replicated.

import assert from 'node:assert/strict'
import { ReadingInterrupted, StorageFailure } from '../store.ts'
import type { ServerIdentity } from './server-checks.ts'
import { ServerConnection } from './server-connection.ts'
import type { StoreAddress } from './store-address.ts'

/** A read occupies a connection until its snapshot is closed, 10 s at most. */
const maxConnections = 3
const idleMs = 30_000

export class ReadConnections {
  readonly #address: StoreAddress
  /** Undefined: nothing may be read now. */
  #server: ServerIdentity | undefined
  #isClosed = false
  readonly #idle = new Map<ServerConnection, NodeJS.Timeout>()
  readonly #used = new Set<ServerConnection>()
  /** Being opened. */
  #opening = 0
  #waiting: (() => void)[] = []

  constructor(address: StoreAddress) {
    this.#address = address
  }

  get isReady(): boolean {
    return this.#server !== undefined
  }

  /** Reads may start. */
  setServer(server: ServerIdentity): void {
    this.#server = server
    this.#wake()
  }

  /** Interrupts all reads. Others wait for `setServer`. */
  unsetServer(): void {
    this.#server = undefined
    for (const [connection, timer] of this.#idle) {
      clearTimeout(timer)
      connection.destroy()
    }
    this.#idle.clear()
    // Their statements reject.
    for (const connection of this.#used) connection.destroy()
    this.#used.clear()
  }

  close(): void {
    this.#isClosed = true
    this.unsetServer()
    this.#wake()
  }

  /** Resolves when reads may start, or the store is closed. */
  async waitUntilReady(): Promise<void> {
    while (this.#server === undefined && !this.#isClosed) await this.#waitForChange()
  }

  /** Resolves with a connection, which must be released. Rejects with StorageFailure. */
  async acquire(): Promise<ServerConnection> {
    for (;;) {
      if (this.#isClosed) throw new StorageFailure('the store is closed')
      const server = this.#server
      const [idle] = this.#idle.keys()
      if (idle !== undefined) return this.#use(idle)
      if (server !== undefined && this.#used.size + this.#opening < maxConnections) return await this.#open(server)
      await this.#waitForChange()
    }
  }

  release(connection: ServerConnection): void {
    if (this.#used.delete(connection) && !connection.isLost) {
      const timer = setTimeout(() => {
        this.#idle.delete(connection)
        connection.destroy()
      }, idleMs)
      this.#idle.set(connection, timer.unref())
    }
    this.#wake()
  }

  #use(connection: ServerConnection): ServerConnection {
    clearTimeout(this.#idle.get(connection))
    this.#idle.delete(connection)
    this.#used.add(connection)
    return connection
  }

  async #open(server: ServerIdentity): Promise<ServerConnection> {
    this.#opening += 1
    let connection: ServerConnection
    try {
      connection = await ServerConnection.open({
        address: this.#address,
        host: server.host,
        use: 'read',
        onLost: () => this.#handleLost(connection),
      })
    } finally {
      this.#opening -= 1
      this.#wake()
    }
    const { systemIdentifier, timeline } = connection.server
    const isSame = systemIdentifier === server.systemIdentifier && timeline === server.timeline
    if (this.#server !== server || !isSame) {
      connection.destroy()
      throw new ReadingInterrupted('the server of the database has changed')
    }
    this.#used.add(connection)
    return connection
  }

  #handleLost(connection: ServerConnection): void {
    clearTimeout(this.#idle.get(connection))
    this.#idle.delete(connection)
    this.#used.delete(connection)
    this.#wake()
  }

  #waitForChange(): Promise<void> {
    assert(this.#waiting.length < 100_000, 'too many reads wait for the database')
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve()
  }
}
