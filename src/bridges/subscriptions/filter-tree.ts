// Filters as a tree of their levels, to find those that match a topic, and those that cover others:
//
//   a/#   covers   a, a/+, a/b/c, a/b/#          it matches every topic that one of these matches
//
// Filters that start with `$` are excluded.

import type { QoS, TopicFilter } from '../../protocol/index.ts'

interface Branch {
  readonly below: Map<string, Branch>
  /** The filter that ends here. */
  filter: TopicFilter | undefined
}

type Visit = (filter: TopicFilter) => void

export class FilterTree {
  readonly #root: Branch = createBranch()
  readonly #filters = new Map<TopicFilter, QoS>()
  /** Grows whenever the set of matching topics may change. */
  version = 0

  get size(): number {
    return this.#filters.size
  }

  get(filter: TopicFilter): QoS | undefined {
    return this.#filters.get(filter)
  }

  keys(): IterableIterator<TopicFilter> {
    return this.#filters.keys()
  }

  set(filter: TopicFilter, qos: QoS): void {
    const isNew = !this.#filters.has(filter)
    this.#filters.set(filter, qos)
    if (!isNew) return
    this.version++
    let branch = this.#root
    for (const level of filter.split('/')) {
      const next = branch.below.get(level) ?? createBranch()
      branch.below.set(level, next)
      branch = next
    }
    branch.filter = filter
  }

  delete(filter: TopicFilter): void {
    if (!this.#filters.delete(filter)) return
    this.version++
    removeBranch(this.#root, filter.split('/'), 0)
  }

  /** Returns whether one of the filters matches. */
  matches(topic: string): boolean {
    return !topic.startsWith('$') && matchesBelow(this.#root, topic.split('/'), 0)
  }

  /** Visits the other filters that cover `filter`. */
  visitCovering(filter: TopicFilter, visit: Visit): void {
    visitCoveringBelow(this.#root, filter.split('/'), 0, excludeFilter(filter, visit))
  }

  /** Visits the other filters that `filter` covers. */
  visitCovered(filter: TopicFilter, visit: Visit): void {
    visitCoveredBelow(this.#root, filter.split('/'), 0, excludeFilter(filter, visit))
  }
}

function createBranch(): Branch {
  return { below: new Map(), filter: undefined }
}

function excludeFilter(filter: TopicFilter, visit: Visit): Visit {
  return (found) => {
    if (found !== filter) visit(found)
  }
}

/** Returns true if the branch is empty. */
function removeBranch(branch: Branch, levels: readonly string[], at: number): boolean {
  if (at === levels.length) branch.filter = undefined
  else {
    const next = branch.below.get(levels[at])
    if (next !== undefined && removeBranch(next, levels, at + 1)) branch.below.delete(levels[at])
  }
  return branch.filter === undefined && branch.below.size === 0
}

function matchesBelow({ below, filter }: Branch, levels: readonly string[], at: number): boolean {
  if (below.has('#')) return true
  if (at === levels.length) return filter !== undefined
  const same = below.get(levels[at])
  const any = below.get('+')
  if (same !== undefined && matchesBelow(same, levels, at + 1)) return true
  return any !== undefined && matchesBelow(any, levels, at + 1)
}

function visitCoveringBelow({ below, filter }: Branch, levels: readonly string[], at: number, visit: Visit): void {
  const rest = below.get('#')?.filter
  if (rest !== undefined) visit(rest)
  if (at === levels.length) {
    if (filter !== undefined) visit(filter)
    return
  }
  const level = levels[at]
  if (level === '#') return
  const any = below.get('+')
  if (any !== undefined) visitCoveringBelow(any, levels, at + 1, visit)
  const same = level === '+' ? undefined : below.get(level)
  if (same !== undefined) visitCoveringBelow(same, levels, at + 1, visit)
}

function visitCoveredBelow(branch: Branch, levels: readonly string[], at: number, visit: Visit): void {
  const level = levels[at]
  if (level === '#') return visitAll(branch, visit)
  if (at === levels.length) {
    if (branch.filter !== undefined) visit(branch.filter)
    return
  }
  if (level === '+') {
    for (const [found, next] of branch.below) if (found !== '#') visitCoveredBelow(next, levels, at + 1, visit)
    return
  }
  const next = branch.below.get(level)
  if (next !== undefined) visitCoveredBelow(next, levels, at + 1, visit)
}

function visitAll({ below, filter }: Branch, visit: Visit): void {
  if (filter !== undefined) visit(filter)
  for (const next of below.values()) visitAll(next, visit)
}
