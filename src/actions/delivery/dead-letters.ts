// Dead letters: entries that a service has refused for good. A separate session stores them until an administrator sends or deletes them.

import { ActionQueueClient, type ActionQueueClientOptions, type DeliveredEntry } from './action-queue-client.ts'
import type { ActionEntry } from '../../sinks/index.ts'
import { hasResult, joinResult, splitResult } from './joined-result.ts'

/** Maximum number of dead letters in lists: the oldest ones. */
const maxVisible = 1_000
const maxWhyLength = 300

const whyAttribute = '!why'
const atAttribute = '!at'

export interface DeadLetter {
  readonly id: number
  readonly why: string
  readonly atMs: number
  /** The entry that the service refused, without the reason and time. */
  readonly entry: ActionEntry
}

/** Returns the stored form of an entry that became a dead letter. */
export function toDeadLetterEntry(entry: ActionEntry, why: string, atMs: number): ActionEntry {
  const { payload, attributes } = joinResult(entry)
  const text = why
    .slice(0, maxWhyLength)
    .toWellFormed()
    .replaceAll(/\p{Cc}/gu, ' ')
  return { payload, attributes: [...attributes, [whyAttribute, text], [atAttribute, String(Math.floor(atMs))]] }
}

export interface DeadLettersOptions extends Omit<ActionQueueClientOptions, 'receiveMaximum'> {
  /** Maximum number of stored dead letters. */
  readonly maxLetters: number
}

export class DeadLetters {
  readonly #client: ActionQueueClient
  readonly #maxLetters: number
  readonly #maxVisible: number
  readonly #letters = new Map<number, DeliveredEntry>()
  #lastId = 0
  #isStopped = false
  #dropped = 0

  constructor({ maxLetters, ...options }: DeadLettersOptions) {
    this.#maxLetters = maxLetters
    // One more than the maximum is delivered, so that the oldest can be dropped.
    this.#maxVisible = Math.min(maxVisible, maxLetters + 1)
    this.#client = new ActionQueueClient(
      { ...options, receiveMaximum: this.#maxVisible },
      {
        onOpened: () => this.#letters.clear(),
        onEntry: (entry) => this.#add(entry),
        onClosed: () => this.#letters.clear(),
      },
    )
  }

  get isStopped(): boolean {
    return this.#isStopped
  }

  /** Number of delivered letters. */
  get size(): number {
    return this.#letters.size
  }

  /** Whether the queue may deliver further letters. */
  get canReceive(): boolean {
    return this.#letters.size < this.#maxVisible
  }

  /** Number of letters that were dropped because there were too many. The queue drops others itself. */
  get dropped(): number {
    return this.#dropped
  }

  start(): void {
    this.#client.start()
  }

  stop(): void {
    this.#isStopped = true
    this.#client.stop()
  }

  #add(entry: DeliveredEntry): void {
    this.#letters.set(++this.#lastId, entry)
    if (this.#letters.size <= this.#maxLetters) return
    const [oldest] = this.#letters.keys()
    this.#dropped += this.delete(oldest)
  }

  find(id: number): DeadLetter | undefined {
    const entry = this.#letters.get(id)
    return entry === undefined ? undefined : toDeadLetter(id, entry)
  }

  /** Returns the oldest letter after the one with this ID. */
  next(afterId: number): DeadLetter | undefined {
    for (const [id, entry] of this.#letters) if (id > afterId) return toDeadLetter(id, entry)
    return undefined
  }

  list(): readonly DeadLetter[] {
    return [...this.#letters].map(([id, entry]) => toDeadLetter(id, entry))
  }

  /** Deletes all visible dead letters, or the one with this ID. Returns the number of deleted ones. */
  delete(id: number | undefined): number {
    const ids = id === undefined ? [...this.#letters.keys()] : this.#letters.has(id) ? [id] : []
    for (const each of ids) {
      const entry = this.#letters.get(each)
      this.#letters.delete(each)
      if (entry !== undefined) this.#client.acknowledge(entry)
    }
    return ids.length
  }
}

function toDeadLetter(id: number, { payload, attributes }: DeliveredEntry): DeadLetter {
  const values = new Map(attributes)
  const own = attributes.filter(([name]) => name !== whyAttribute && name !== atAttribute)
  const entry = { payload, attributes: own }
  return {
    id,
    why: values.get(whyAttribute) ?? '',
    atMs: Number(values.get(atAttribute) ?? 0),
    entry: hasResult(own) ? splitResult(entry) : entry,
  }
}
