// Dead letters: entries that a service has refused for good. A separate session stores them until an administrator sends or deletes them.

import { ActionQueueClient, type ActionQueueClientOptions, type DeliveredEntry } from './action-queue-client.ts'
import type { ActionEntry } from './sink.ts'
import { hasResult, joinResult, splitResult } from './stored-result.ts'

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
export function deadLetterOf(entry: ActionEntry, why: string, atMs: number): ActionEntry {
  const { payload, attributes } = joinResult(entry)
  const text = why
    .slice(0, maxWhyLength)
    .toWellFormed()
    .replaceAll(/\p{Cc}/gu, ' ')
  return { payload, attributes: [...attributes, [whyAttribute, text], [atAttribute, String(Math.floor(atMs))]] }
}

export class DeadLetters {
  readonly #client: ActionQueueClient
  readonly #letters = new Map<number, DeliveredEntry>()
  #lastId = 0

  constructor(options: Omit<ActionQueueClientOptions, 'receiveMaximum'>) {
    this.#client = new ActionQueueClient(
      { ...options, receiveMaximum: maxVisible },
      {
        noteOpened: () => this.#letters.clear(),
        noteEntry: (entry) => this.#letters.set(++this.#lastId, entry),
        noteClosed: () => this.#letters.clear(),
      },
    )
  }

  start(): void {
    this.#client.start()
  }

  stop(): void {
    this.#client.stop()
  }

  list(): readonly DeadLetter[] {
    return [...this.#letters].map(([id, entry]) => letterOf(id, entry))
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

  /**
   * Sends all visible dead letters again, or the one with this ID: `store` puts them into the action queue, then they are deleted.
   * Returns their number.
   */
  async retry(id: number | undefined, store: (entry: ActionEntry) => Promise<boolean>): Promise<number> {
    let count = 0
    for (const letter of this.list()) {
      if ((id !== undefined && id !== letter.id) || !this.#letters.has(letter.id)) continue
      if (!(await store(letter.entry))) continue
      count += this.delete(letter.id)
    }
    return count
  }
}

function letterOf(id: number, { payload, attributes }: DeliveredEntry): DeadLetter {
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
