// Values of `kv_store_*`, which all shards of the node have. A change holds at once in the shard that makes it, and is told to
// the others at the end of the turn. Of two changes of one key at the same time, the one that the main thread takes last holds.

import { decodeJson, valueAsJson, type RuleValue } from '../../rules/index.ts'
import type { StoredValueChange } from '../messages/rule-plan.ts'
import type { StoredValues } from './rule-host.ts'

export class NodeValues implements StoredValues {
  readonly #values = new Map<string, RuleValue>()
  readonly #tell: (changes: readonly StoredValueChange[]) => void
  /** Not told yet, the last of each key. */
  #changes = new Map<string, string | undefined>()
  /** Told, and not come back. What comes of such a key from before is older. */
  readonly #underWay = new Map<string, number>()

  constructor(tell: (changes: readonly StoredValueChange[]) => void) {
    this.#tell = tell
  }

  get size(): number {
    return this.#values.size
  }

  get(key: string): RuleValue {
    return this.#values.get(key)
  }

  set(key: string, value: RuleValue): Map<string, RuleValue> {
    this.#note(key, valueAsJson(value))
    return this.#values.set(key, value)
  }

  delete(key: string): boolean {
    this.#note(key, undefined)
    return this.#values.delete(key)
  }

  /** From the main thread, in the order that holds for all shards. `isOwn`: this shard has told it. */
  apply(changes: readonly StoredValueChange[], isOwn: boolean): void {
    for (const [key, json] of changes) {
      if (isOwn) this.#hasComeBack(key)
      if (this.#changes.has(key) || this.#underWay.has(key)) continue
      if (json === undefined) this.#values.delete(key)
      else this.#values.set(key, decodeJson(json))
    }
  }

  #note(key: string, json: string | undefined): void {
    if (this.#changes.size === 0) setImmediate(() => this.#flush())
    this.#changes.set(key, json)
  }

  #flush(): void {
    const changes = [...this.#changes]
    this.#changes = new Map()
    for (const [key] of changes) this.#underWay.set(key, (this.#underWay.get(key) ?? 0) + 1)
    this.#tell(changes)
  }

  #hasComeBack(key: string): void {
    const left = (this.#underWay.get(key) ?? 1) - 1
    if (left === 0) this.#underWay.delete(key)
    else this.#underWay.set(key, left)
  }
}
