// Names and numbers of shards. A stored shard is named by its number, which lasts: records may name it. A local shard is a thread of one run
// of a process and serves only sessions that are not stored. Its name is never written to a store.
//
//   name                                  number in this core
//   { stored: 3 }                         3                     the same everywhere
//   { life: '0f3a...', thread: 2 }        256, 257, ...         assigned here; means nothing in another process
//
// Inputs, state and messages of a core have numbers. What crosses a link has names: the link translates.

import { assert } from '../../protocol/index.ts'

/** Stored shards of a cluster have the numbers from 0 to 255. */
export const maxStoredShards = 256

/** Number of a shard in one core: below `maxStoredShards` for a stored shard. */
export type PeerNumber = number

export interface StoredShardName {
  readonly stored: number
}

export interface LocalShardName {
  /** The run of the process: 16 hexadecimal digits. */
  readonly life: string
  /** From 0 to 65,535. */
  readonly thread: number
}

/** The name of a shard in messages between shards. */
export type PeerName = StoredShardName | LocalShardName

const lifePattern = /^[0-9a-f]{16}$/
const maxThread = 65_535

export function isStoredShard(number: PeerNumber): boolean {
  return number < maxStoredShards
}

/** The local shards that one core knows. The driver adds them; the core removes those that have left. */
export class PeerNames {
  readonly #numbers = new Map<string, PeerNumber>()
  readonly #names = new Map<PeerNumber, LocalShardName>()
  #last = maxStoredShards - 1

  /** Returns the number of the shard. A local shard that is not known gets the next one, which no other shard had. */
  add(name: PeerName): PeerNumber {
    const known = this.find(name)
    if (known !== undefined) return known
    assert('life' in name, 'the number of a stored shard is not below 256')
    const { life, thread } = name
    assert(lifePattern.test(life), 'a life has not 16 hexadecimal digits')
    assert(Number.isInteger(thread) && thread >= 0 && thread <= maxThread, 'a thread has no number up to 65,535')
    const number = ++this.#last
    this.#numbers.set(toKey(name), number)
    this.#names.set(number, { life, thread })
    return number
  }

  /** Returns undefined for a local shard that has not joined or has left. */
  find(name: PeerName): PeerNumber | undefined {
    if ('life' in name) return this.#numbers.get(toKey(name))
    return isStoredShard(name.stored) ? name.stored : undefined
  }

  /** Returns the name; undefined for a local shard that has left. */
  get(number: PeerNumber): PeerName | undefined {
    return isStoredShard(number) ? { stored: number } : this.#names.get(number)
  }

  /** Returns whether shard `one` counts before `other`, which is the same in all cores: stored shards, then local ones by name. */
  isBefore(one: PeerNumber, other: PeerNumber): boolean {
    if (isStoredShard(one) || isStoredShard(other)) return one < other
    const name = this.#names.get(one)
    const otherName = this.#names.get(other)
    return name !== undefined && otherName !== undefined && toKey(name) < toKey(otherName)
  }

  /** The local shard has left for good. A later shard of this name gets another number. */
  remove(number: PeerNumber): void {
    const name = this.#names.get(number)
    if (name === undefined) return
    this.#names.delete(number)
    this.#numbers.delete(toKey(name))
  }
}

/** A text that sorts like the name. */
function toKey({ life, thread }: LocalShardName): string {
  return `${life}-${String(thread).padStart(5, '0')}`
}
