// Order of the entries of an action (`resource_opts.order`): entries with the same key are sent one after the other. The key is stored with
// the entry, so that the order is the same after a restart.

import type { RuleEvent } from '../../rules/index.ts'
import type { KeptOrder, ActionEntry } from '../../sinks/index.ts'

export type Order = 'publisher' | 'topic' | 'action' | 'none'

const orderAttribute = '!order'
const columns = { publisher: 'clientid', topic: 'topic', action: undefined, none: undefined } as const
const noAttributes: ActionEntry['attributes'] = []

export class ActionOrder {
  readonly #column: string | undefined
  /** Entries without the attribute have this key. */
  readonly #usualKey: string | undefined

  constructor(order: Order, writeOrder: KeptOrder) {
    const isFree = order === 'none' || writeOrder === 'calls'
    this.#usualKey = isFree ? undefined : ''
    this.#column = isFree ? undefined : columns[order]
  }

  /** Entries with the same value wait for each other. An event without publisher or topic has ''. */
  readOrderValue(event: Pick<RuleEvent, 'readColumn'>): string {
    const value = this.#column === undefined ? '' : event.readColumn(this.#column)
    return typeof value === 'string' ? value : ''
  }

  /** Returns the attributes that are stored with an entry. */
  createAttributes(event: Pick<RuleEvent, 'readColumn'>): ActionEntry['attributes'] {
    return toOrderAttributes(this.readOrderValue(event))
  }

  /** Entries with the same key are sent one after the other; undefined: the entry waits for no other. */
  findOrderKey({ attributes }: ActionEntry): string | undefined {
    if (this.#column === undefined) return this.#usualKey
    return attributes.find(([name]) => name === orderAttribute)?.[1] ?? this.#usualKey
  }
}

/** Returns the attributes of an entry for a value of `ActionOrder`. */
export function toOrderAttributes(value: string): ActionEntry['attributes'] {
  return value === '' ? noAttributes : [[orderAttribute, value]]
}
