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
  addUnwritten(of: StoredRetained, message: Message, batch: number): void {
    this.#unwritten.set(of, message)
    this.#byBatch.push({ batch, of })
    this.#memory.add('retained', of.size)
  }

  /** Batches up to `number` are durable. */
  releaseWritten(number: number): void {
    for (let next = this.#byBatch.peek(); next !== undefined && next.batch <= number; next = this.#byBatch.peek()) {
      this.#byBatch.shift()
      this.#forgetUnwritten(next.of)
    }
  }

  /** `lost`: its record is damaged. Undefined: it must be read. */
  get(of: StoredRetained): Message | 'lost' | undefined {
    return this.#unwritten.get(of) ?? this.#readings.get(of)?.message ?? this.#readFromCache(of)
  }

  /** `not-requested`: the caller must request it from the store. `full`: the reader waits in line. */
  addReader(of: StoredRetained, reader: Reader): 'not-requested' | 'requested' | 'full' {
    const known = this.#readings.get(of)
    if (known === undefined && this.#readBytes > 0 && this.#readBytes + of.size > maxReadBytes) {
      this.#inLine.add(reader)
      return 'full'
    }
    const reading = known ?? this.#begin(of)
    reading.readers.add(reader)
    const wanted = this.#wantedBy.get(reader)
    if (wanted === undefined) this.#wantedBy.set(reader, new Set([of]))
    else wanted.add(of)
    return known === undefined ? 'not-requested' : 'requested'
  }

  /** The message was read; undefined: its record is damaged. Returns the readers to wake. */
  recordRead(of: StoredRetained, message: Message | undefined): Reader[] {
    const reading = this.#readings.get(of)
    if (reading === undefined) return [] // The topic has another message now.
    reading.message = message ?? 'lost'
    if (reading.readers.size === 0) this.#end(of, reading)
    return [...reading.readers]
  }

  /** The reader has the message or no longer needs it. */
  release(of: StoredRetained, reader: Reader): void {
    const wanted = this.#wantedBy.get(reader)
    if (wanted?.delete(of) !== true) return
    if (wanted.size === 0) this.#wantedBy.delete(reader)
    const reading = this.#readings.get(of)
    if (reading === undefined) return
    reading.readers.delete(reader)
    if (reading.readers.size === 0 && reading.message !== undefined) this.#end(of, reading)
  }

  /** The reader needs nothing for now. */
  removeReader(reader: Reader): void {
    this.#inLine.delete(reader)
    for (const of of this.#wantedBy.get(reader) ?? []) this.release(of, reader)
  }

  /** The message was replaced or deleted. Returns the readers to wake. */
  forget(of: StoredRetained): Reader[] {
    this.#forgetUnwritten(of)
    const cached = this.#cached.get(of)
    if (cached !== undefined) this.#evict(of)
    const reading = this.#readings.get(of)
    if (reading === undefined) return []
    this.#readings.delete(of)
    this.#readBytes -= of.size
    this.#memory.add('retained', -of.size)
    const readers = [...reading.readers]
    for (const reader of readers) this.release(of, reader)
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

  #forgetUnwritten(of: StoredRetained): void {
    if (this.#unwritten.delete(of)) this.#memory.add('retained', -of.size)
  }

  #begin(of: StoredRetained): Reading<Reader> {
    const reading: Reading<Reader> = { message: undefined, readers: new Set() }
    this.#readings.set(of, reading)
    this.#readBytes += of.size
    this.#memory.add('retained', of.size)
    return reading
  }

  #end(of: StoredRetained, { message }: Reading<Reader>): void {
    this.#readings.delete(of)
    this.#readBytes -= of.size
    if (message === undefined || message === 'lost') return this.#memory.add('retained', -of.size)
    this.#cached.set(of, message)
    this.#cachedBytes += of.size
    for (const oldest of this.#cached.keys()) {
      if (this.#cachedBytes <= maxCachedBytes) break
      this.#evict(oldest)
    }
  }

  #readFromCache(of: StoredRetained): Message | undefined {
    const message = this.#cached.get(of)
    if (message === undefined) return undefined
    this.#cached.delete(of)
    this.#cached.set(of, message)
    return message
  }

  #evict(of: StoredRetained): void {
    this.#cached.delete(of)
    this.#cachedBytes -= of.size
    this.#memory.add('retained', -of.size)
  }
}
