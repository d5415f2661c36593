// One level of the filters in a subscription trie. Most nodes have one child, which is stored without a Map until there is a second.

import type { FilterSubscribers } from './filter-subscribers.ts'
import { LargeMap } from './large-map.ts'

export class TrieNode<S extends object, O> {
  /** The level of this node, by which an only child is identified. */
  readonly level: string
  /** The filter that ends here. */
  here: FilterSubscribers<S, O> | undefined = undefined
  /** The filter that ends here with `/#` after it. */
  below: FilterSubscribers<S, O> | undefined = undefined
  #loneChild: TrieNode<S, O> | undefined = undefined
  /** Replaces `#loneChild` after a second child was added. */
  #children: LargeMap<TrieNode<S, O>> | undefined = undefined

  constructor(level: string) {
    this.level = level
  }

  get isEmpty(): boolean {
    return (
      this.here === undefined &&
      this.below === undefined &&
      this.#loneChild === undefined &&
      this.#children === undefined
    )
  }

  getChild(level: string): TrieNode<S, O> | undefined {
    if (this.#children !== undefined) return this.#children.get(level)
    return this.#loneChild?.level === level ? this.#loneChild : undefined
  }

  addChild(level: string): TrieNode<S, O> {
    const child = new TrieNode<S, O>(level)
    if (this.#children !== undefined) {
      this.#children.set(level, child)
    } else if (this.#loneChild === undefined) {
      this.#loneChild = child
    } else {
      this.#children = new LargeMap()
      this.#children.set(this.#loneChild.level, this.#loneChild)
      this.#children.set(level, child)
      this.#loneChild = undefined
    }
    return child
  }

  removeChild(child: TrieNode<S, O>): void {
    if (this.#loneChild === child) this.#loneChild = undefined
    this.#children?.delete(child.level)
    if (this.#children?.size === 0) this.#children = undefined
  }
}

/** Removes the empty nodes at the end of a path from the root. */
export function pruneUpwards<S extends object, O>(path: readonly TrieNode<S, O>[]): void {
  for (let depth = path.length - 1; depth > 0; depth -= 1) {
    const node = path[depth]
    if (!node.isEmpty) return
    path[depth - 1].removeChild(node)
  }
}
