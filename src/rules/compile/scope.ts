// Resolves names at compile time: an alias is a slot of the frame, everything else is a column of the event.

import { type MapBuilder, setKey } from '../../values/index.ts'
import type { Evaluate, Frame } from './frame.ts'

export interface Slot {
  readonly name: string
  readonly index: number
  /** Whether anything reads the slot. If not, nothing writes it. */
  isRead: boolean
  /** The value of the alias, or what the name means without it. */
  readonly read: Evaluate
}

/** Names of one part of a statement. A part sees the names of the parts around it. */
export class Scope {
  readonly #outer: Scope | undefined
  readonly #slots = new Map<string, Slot>()
  readonly #counter: { count: number }

  constructor(outer?: Scope) {
    this.#outer = outer
    this.#counter = outer === undefined ? { count: 0 } : outer.#counter
  }

  /** Number of slots of this scope and all scopes that share its root. */
  get slotCount(): number {
    return this.#counter.count
  }

  /** Returns the slot for an alias in this scope. Until it is written, the name means what it means outside. */
  addAlias(name: string): Slot {
    const known = this.#slots.get(name)
    if (known !== undefined) return known
    const outside = this.#outer?.resolve(name) ?? createColumnReader(name)
    const index = this.#counter.count++
    const read = (frame: Frame) => {
      const value = frame.slots[index]
      return value === undefined ? outside(frame) : value
    }
    return this.#add({ name, index, isRead: false, read })
  }

  /** Returns the slot for the item of FOREACH. It hides the name outside also if the item is undefined. */
  addItem(name: string): Slot {
    const index = this.#counter.count++
    return this.#add({ name, index, isRead: true, read: (frame) => frame.slots[index] })
  }

  #add(slot: Slot): Slot {
    this.#slots.set(slot.name, slot)
    return slot
  }

  /** Whether the name is an alias or item. */
  has(name: string): boolean {
    return this.#slots.has(name) || (this.#outer?.has(name) ?? false)
  }

  /** Returns the reader of a name. */
  resolve(name: string): Evaluate {
    const slot = this.#slots.get(name)
    if (slot === undefined) return this.#outer?.resolve(name) ?? createColumnReader(name)
    slot.isRead = true
    return slot.read
  }

  /** Returns the reader of all columns, aliases and items that exist at this place of the statement. */
  createReaderOfAll(): (frame: Frame) => MapBuilder {
    const slots = this.#listVisible()
    for (const slot of slots) slot.isRead = true
    return (frame) => {
      const map = frame.event.collectColumns()
      map['metadata'] = frame.metadata
      for (const { name, index } of slots) {
        const value = frame.slots[index]
        if (value !== undefined) setKey(map, name, value)
      }
      return map
    }
  }

  #listVisible(): Slot[] {
    const outer = this.#outer === undefined ? [] : this.#outer.#listVisible()
    return [...outer, ...this.#slots.values()]
  }

  /** Indices of the slots of this scope. */
  listSlotIndices(): number[] {
    return [...this.#slots.values()].map(({ index }) => index)
  }
}

function createColumnReader(name: string): Evaluate {
  if (name === 'metadata') return (frame) => frame.metadata
  if (name === 'payload') return (frame) => frame.event.readPayload()
  return (frame) => frame.event.readColumn(name)
}
