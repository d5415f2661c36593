// Payloads of large retained messages that are temporarily in memory.
//
//   published ──► unwritten ──its record is durable──► on disk only
//   requested by readers ──► reading ──► read ──all readers have it──► cached, until others need the memory
//
// A reader is a session that gets retained messages, or a request of another shard. All readers share the memory for messages
// that are being read or are read. A reader without memory waits in line. A reader that is woken takes its messages in its next
// turn or releases them, so that memory is not reserved for long.

import type { MemoryAccount } from '../../model/memory-account.ts'
import type { Message } from '../../messages/message.ts'
import type { StoredRetained } from '../../messages/retained-message.ts'
import { PendingQueue } from './pending-queue.ts'

/** Maximum bytes of messages being read, or read and not given to all readers; a single message may be larger. */
const maxReadBytes = 16 * 1_024 * 1_024
/** Maximum bytes of messages that all their readers have. */
const maxCachedBytes = 8 * 1_024 * 1_024
/** Maximum number of waiting readers that are woken at once. */
const maxWoken = 64

interface Reading<Reader extends object> {
  /** Undefined: not read yet. `lost`: its record is damaged. */
  message: Message | 'lost' | undefined
  readonly readers: Set<Reader>
}

export class RetainedPayloads<Reader extends object> {
  readonly #memory: MemoryAccount
  readonly #unwritten = new Map<StoredRetained, Message>()
  readonly #byBatch = new PendingQueue<{ readonly batch: number; readonly of: StoredRetained }>()
  readonly #readings = new Map<StoredRetained, Reading<Reader>>()
  readonly #wantedBy = new Map<Reader, Set<StoredRetained>>()
  readonly #inLine = new Set<Reader>()
  /** Least recently used first. */
  readonly #cached = new Map<StoredRetained, Message>()
  #readBytes = 0
  #cachedBytes = 0

  constructor(memory: MemoryAccount) {
    this.#memory = memory
  }

  /** Keeps the message in memory until the batch with its record is durable. */
  addUnwritten(stored: StoredRetained, message: Message, batch: number): void {
    this.#unwritten.set(stored, message)
    this.#byBatch.push({ batch, of: stored })
    this.#memory.add('retained', stored.size)
  }

  /** Batches up to `number` are durable. */
  releaseWritten(number: number): void {
    for (let next = this.#byBatch.peek(); next !== undefined && next.batch <= number; next = this.#byBatch.peek()) {
      this.#byBatch.shift()
      this.#forgetUnwritten(next.of)
    }
  }

  /** `lost`: its record is damaged. Undefined: it must be read. */
  get(stored: StoredRetained): Message | 'lost' | undefined {
    return this.#unwritten.get(stored) ?? this.#readings.get(stored)?.message ?? this.#readFromCache(stored)
  }

  /** `not-requested`: the caller must request it from the store. `full`: the reader waits in line. */
  addReader(stored: StoredRetained, reader: Reader): 'not-requested' | 'requested' | 'full' {
    const known = this.#readings.get(stored)
    if (known === undefined && this.#readBytes > 0 && this.#readBytes + stored.size > maxReadBytes) {
      this.#inLine.add(reader)
      return 'full'
    }
    const reading = known ?? this.#begin(stored)
    reading.readers.add(reader)
    const wanted = this.#wantedBy.get(reader)
    if (wanted === undefined) this.#wantedBy.set(reader, new Set([stored]))
    else wanted.add(stored)
    return known === undefined ? 'not-requested' : 'requested'
  }

  /** The message was read; undefined: its record is damaged. Returns the readers to wake. */
  recordRead(stored: StoredRetained, message: Message | undefined): Reader[] {
    const reading = this.#readings.get(stored)
    if (reading === undefined) return [] // The topic has another message now.
    reading.message = message ?? 'lost'
    if (reading.readers.size === 0) this.#end(stored, reading)
    return [...reading.readers]
  }

  /** The reader has the message or no longer needs it. */
  release(stored: StoredRetained, reader: Reader): void {
    const wanted = this.#wantedBy.get(reader)
    if (wanted?.delete(stored) !== true) return
    if (wanted.size === 0) this.#wantedBy.delete(reader)
    const reading = this.#readings.get(stored)
    if (reading === undefined) return
    reading.readers.delete(reader)
    if (reading.readers.size === 0 && reading.message !== undefined) this.#end(stored, reading)
  }

  /** The reader needs nothing for now. */
  removeReader(reader: Reader): void {
    this.#inLine.delete(reader)
    for (const of of this.#wantedBy.get(reader) ?? []) this.release(of, reader)
  }

  /** The message was replaced or deleted. Returns the readers to wake. */
  forget(stored: StoredRetained): Reader[] {
    this.#forgetUnwritten(stored)
    const cached = this.#cached.get(stored)
    if (cached !== undefined) this.#evict(stored)
    const reading = this.#readings.get(stored)
    if (reading === undefined) return []
    this.#readings.delete(stored)
    this.#readBytes -= stored.size
    this.#memory.add('retained', -stored.size)
    const readers = [...reading.readers]
    for (const reader of readers) this.release(stored, reader)
    return readers
  }

  /** Returns some waiting readers, if there is memory again. */
  takeInLine(): Reader[] {
    if (this.#inLine.size === 0 || this.#readBytes * 2 > maxReadBytes) return []
    const woken: Reader[] = []
    for (const reader of this.#inLine) {
      if (woken.length === maxWoken) break
      woken.push(reader)
      this.#inLine.delete(reader)
    }
    return woken
  }

  #forgetUnwritten(stored: StoredRetained): void {
    if (this.#unwritten.delete(stored)) this.#memory.add('retained', -stored.size)
  }

  #begin(stored: StoredRetained): Reading<Reader> {
    const reading: Reading<Reader> = { message: undefined, readers: new Set() }
    this.#readings.set(stored, reading)
    this.#readBytes += stored.size
    this.#memory.add('retained', stored.size)
    return reading
  }

  #end(stored: StoredRetained, { message }: Reading<Reader>): void {
    this.#readings.delete(stored)
    this.#readBytes -= stored.size
    if (message === undefined || message === 'lost') return this.#memory.add('retained', -stored.size)
    this.#cached.set(stored, message)
    this.#cachedBytes += stored.size
    for (const oldest of this.#cached.keys()) {
      if (this.#cachedBytes <= maxCachedBytes) break
      this.#evict(oldest)
    }
  }

  #readFromCache(stored: StoredRetained): Message | undefined {
    const message = this.#cached.get(stored)
    if (message === undefined) return undefined
    this.#cached.delete(stored)
    this.#cached.set(stored, message)
    return message
  }

  #evict(stored: StoredRetained): void {
    this.#cached.delete(stored)
    this.#cachedBytes -= stored.size
    this.#memory.add('retained', -stored.size)
  }
}
