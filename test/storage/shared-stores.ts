// Several stores on one database, and the store owner that admits them, without the threads.

import assert from 'node:assert/strict'
import {
  type StoreConnection,
  openLevelStore,
  openStoreOwner,
  type StorageAlarm,
  type Store,
  type StoreOwner,
  StoreClient,
} from '../../src/storage/index.ts'

/** Any number of shards. */
export class SharedStores {
  readonly directory: string
  readonly alarms: StorageAlarm[] = []
  /** Requests of shards to the store owner: `1 renew`. */
  readonly requests: string[] = []
  readonly stores: Store[] = []
  readonly released: number[] = []
  readonly #kept: StoreConnection[] = []
  #owner: StoreOwner | undefined

  constructor(directory: string) {
    this.directory = directory
  }

  /** Closes the open stores first. */
  async begin(shards: number): Promise<void> {
    await this.end()
    this.#owner = await openStoreOwner({
      directory: this.directory,
      shards,
      // The queues have no sessions.
      recoveredExpirySeconds: undefined,
      onAlarm: (alarm) => this.alarms.push(alarm),
    })
    for (let own = 0; own < shards; own++) this.stores[own] = await this.#join(own, shards)
  }

  async end(): Promise<void> {
    for (const store of this.stores.splice(0)) await store.close()
    await this.#owner?.close()
    this.#owner = undefined
  }

  #join(own: number, count: number): Promise<Store> {
    assert.ok(this.#owner !== undefined)
    const client = new StoreClient((request) => {
      this.requests.push(`${own} ${request.kind}`)
      this.#kept[own].handleRequest(request)
    })
    this.#kept[own] = this.#owner.connectClient((notice) => client.handleNotice(notice))
    return openLevelStore({
      directory: this.directory,
      sync: 'commit',
      syncIntervalMs: 1_000,
      onAlarm: (alarm) => this.alarms.push(alarm),
      onReleased: (payloadIds) => this.released.push(...payloadIds),
      partition: { own, count },
      client,
    })
  }
}
