// What all shards of a node know about logins, in memory that they share. So the limits apply to a node, whatever shard checks a password:
//
//   lock: 0, or 1 + the shard that holds it | salt of the digests | failures by address | failures by user name | successful logins
//
// A shard holds the lock for some microseconds. If its thread ends meanwhile, the supervisor releases the lock: see `freeLoginTable`.

import { hash, randomFillSync } from 'node:crypto'
import { type Digest, SharedDigestMap } from './shared-digest-map.ts'

const maxAddresses = { maxEntries: 8_192, values: 3 }
const maxNames = { maxEntries: 8_192, values: 3 }
const maxKnownLogins = { maxEntries: 16_384, values: 1 }
/** The lock, and 4 bytes that are not used. */
const lockBytes = 8
const saltBytes = 16
const spins = 100
/** How long a shard waits for the lock before it looks again. */
const lockWaitMs = 1

const addressesAt = lockBytes + saltBytes
const namesAt = addressesAt + SharedDigestMap.computeSizeBytes(maxAddresses)
const knownAt = namesAt + SharedDigestMap.computeSizeBytes(maxNames)

/** Creates the memory for the shards of one node. */
export function createLoginTable(): SharedArrayBuffer {
  const memory = new SharedArrayBuffer(knownAt + SharedDigestMap.computeSizeBytes(maxKnownLogins))
  randomFillSync(new Uint8Array(memory, lockBytes, saltBytes))
  return memory
}

/** The thread of a shard has ended: it holds no lock. */
export function freeLoginTable(memory: SharedArrayBuffer, shard: number): void {
  const lock = new Int32Array(memory, 0, 1)
  Atomics.compareExchange(lock, 0, shard + 1, 0)
  Atomics.notify(lock, 0)
}

export class LoginTable {
  /** Failed logins left of names without failed logins, of other names; time of the last change. */
  readonly addresses: SharedDigestMap
  /** Failed logins; time of the last one; time at which the last of the delayed logins is due. */
  readonly names: SharedDigestMap
  /** Time of the last successful login. */
  readonly known: SharedDigestMap
  readonly #lock: Int32Array
  readonly #salt: Buffer
  readonly #own: number

  constructor(memory = createLoginTable(), shard = 0) {
    this.#lock = new Int32Array(memory, 0, 1)
    this.#salt = Buffer.from(memory, lockBytes, saltBytes)
    this.#own = shard + 1
    this.addresses = new SharedDigestMap(memory, addressesAt, maxAddresses)
    this.names = new SharedDigestMap(memory, namesAt, maxNames)
    this.known = new SharedDigestMap(memory, knownAt, maxKnownLogins)
  }

  /** Returns the salted digest of these parts: it is useless outside of this process. */
  digest(...parts: readonly (string | Uint8Array)[]): Digest {
    const bytes = parts.map((part) => Buffer.from(part))
    const lengths = Buffer.from(bytes.map(({ length }) => length).join(','))
    const digest = hash('sha256', Buffer.concat([this.#salt, lengths, ...bytes]), 'buffer')
    return Int32Array.from({ length: digest.length / 4 }, (_, cell) => digest.readInt32LE(4 * cell))
  }

  /** Runs a function while no other shard uses the table. */
  runExclusively<Result>(run: () => Result): Result {
    this.#acquire()
    try {
      return run()
    } finally {
      Atomics.store(this.#lock, 0, 0)
      Atomics.notify(this.#lock, 0, 1)
    }
  }

  #acquire(): void {
    for (let attempt = 1; ; attempt++) {
      const owner = Atomics.compareExchange(this.#lock, 0, 0, this.#own)
      if (owner === 0) return
      if (attempt > spins) Atomics.wait(this.#lock, 0, owner, lockWaitMs)
    }
  }
}
