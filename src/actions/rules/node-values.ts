// Values of `kv_store_*`, which all shards of the node share. A change is valid at once on the shard that makes it, and
// is sent to the others at the end of the turn. Of two simultaneous changes of one key, the one that reaches the main
// thread last is valid.

import { toJsonText } from '../../rules/index.ts'
import { decodeJson, type RuleValue } from '../../values/index.ts'
import type { StoredValueChange } from '../plan/rule-plan.ts'
import type { StoredValues } from './rule-host.ts'

export class NodeValues implements StoredValues {
  readonly #values = new Map<string, RuleValue>()
  readonly #send: (changes: readonly StoredValueChange[]) => void
  /** Changes that were not sent yet: the last one of each key. */
  #changes = new Map<string, string | undefined>()
  /** Changes that were sent and have not returned yet. A change of such a key from another shard that arrives meanwhile is older. */
  readonly #underWay = new Map<string, number>()

  constructor(send: (changes: readonly StoredValueChange[]) => void) {
    this.#send = send
  }

  get size(): number {
    return this.#values.size
  }

  get(key: string): RuleValue {
    return this.#values.get(key)
  }

  set(key: string, value: RuleValue): Map<string, RuleValue> {
    this.#recordChange(key, toJsonText(value))
    return this.#values.set(key, value)
  }

  delete(key: string): boolean {
    this.#recordChange(key, undefined)
    return this.#values.delete(key)
  }

  /** Applies changes from the main thread, in their final order. `isOwn`: this shard has sent them. */
  apply(changes: readonly StoredValueChange[], isOwn: boolean): void {
    for (const [key, json] of changes) {
      if (isOwn) this.#handleReturned(key)
      if (this.#changes.has(key) || this.#underWay.has(key)) continue
      if (json === undefined) this.#values.delete(key)
      else this.#values.set(key, decodeJson(json))
    }
  }

  #recordChange(key: string, json: string | undefined): void {
    if (this.#changes.size === 0) setImmediate(() => this.#flush())
    this.#changes.set(key, json)
  }

  #flush(): void {
    const changes = [...this.#changes]
    this.#changes = new Map()
    for (const [key] of changes) this.#underWay.set(key, (this.#underWay.get(key) ?? 0) + 1)
    this.#send(changes)
  }

  #handleReturned(key: string): void {
    const left = (this.#underWay.get(key) ?? 1) - 1
    if (left === 0) this.#underWay.delete(key)
    else this.#underWay.set(key, left)
  }
}
