// How a topic learns that a subscription that matters to it has changed, without asking the subscriptions and without
// a list of topics: counters in cells, and each change adds one to a single cell.
//
//   a change of         adds one to the cell of
//   a/b/c/d             the whole name a/b/c/d           (no wildcard: it can only match that name)
//   a/b/c/d/+           the first levels a/b/c           (at most three)
//   a/b/#               the first levels a/b
//   a/+/c               the first level  a
//   #   +/b             no level: the root cell
//
//   the topic a/b/c/d watches  root, a, a/b, a/b/c, and its whole name
//
// Every filter that matches a topic adds to one of the five cells that the topic watches: its literal levels in front
// of the first wildcard are the topic's own. Cells are found by hash, so a topic may also hear of changes that are none
// of its business: then a plan is made anew that need not have been, and nothing is wrong. (Whoever makes names
// collide on purpose gains that and no more.)
//
// Counters only grow. So the topic keeps the *sum* of its five cells, and an equal sum later means that none of them
// has moved: five loads and four additions instead of five comparisons with five remembered numbers.
//
// Sums are taken modulo 2^32. They could come around only after 2^32 additions; an era ends long before, and a watch of
// another era is always stale. A watch also belongs to one set of cells: that of another broker is of another era.

import { hasWildcard, type TopicFilter, type TopicName } from '../../protocol/index.ts'

const cellCount = 65_536
const rootCell = 0
const watchedDepth = 3
/** One change can count up to five times in a sum, if hashes collide: 5 * 2^29 < 2^32. */
const changesPerEra = 2 ** 29
const separator = 47

/** The cells of one topic and what they came to when it last looked. */
export class CellWatch {
  era: object | undefined = undefined
  sum: number = 0
  readonly first: number
  readonly second: number
  readonly third: number
  readonly whole: number

  /** Where a name has less than three levels the missing ones are the root cell again. */
  constructor(name: TopicName) {
    const firstEnd = name.indexOf('/')
    const secondEnd = firstEnd === -1 ? -1 : name.indexOf('/', firstEnd + 1)
    const thirdEnd = secondEnd === -1 ? -1 : name.indexOf('/', secondEnd + 1)
    this.first = levelsCell(hashOf(name, firstEnd === -1 ? name.length : firstEnd))
    this.second = firstEnd === -1 ? rootCell : levelsCell(hashOf(name, secondEnd === -1 ? name.length : secondEnd))
    this.third = secondEnd === -1 ? rootCell : levelsCell(hashOf(name, thirdEnd === -1 ? name.length : thirdEnd))
    this.whole = wholeNameCell(hashOf(name, name.length))
  }
}

/** The counters themselves: 256 KiB, however many topics and subscriptions there are. */
export class ChangeCells {
  readonly #counts: Int32Array = new Int32Array(cellCount)
  readonly #changesPerEra: number
  #changesLeft: number
  #era: object = {}

  /** Another length of an era is for tests. */
  constructor(changesInOneEra: number = changesPerEra) {
    this.#changesPerEra = changesInOneEra
    this.#changesLeft = changesInOneEra
  }

  /** A subscription to `filter` (without `$share/group/`) has come, gone or changed. */
  touch(filter: TopicFilter): void {
    this.#counts[cellOf(filter)] += 1
    this.#changesLeft -= 1
    if (this.#changesLeft > 0) return
    this.#era = {}
    this.#changesLeft = this.#changesPerEra
  }

  /** Whether nothing that matters to the topic has changed since `renew`. May say no without need. */
  isCurrent(watch: CellWatch): boolean {
    return watch.era === this.#era && watch.sum === this.#sumOf(watch)
  }

  /** From now on. */
  renew(watch: CellWatch): void {
    watch.era = this.#era
    watch.sum = this.#sumOf(watch)
  }

  #sumOf(watch: CellWatch): number {
    const counts = this.#counts
    return (
      (counts[rootCell] + counts[watch.first] + counts[watch.second] + counts[watch.third] + counts[watch.whole]) | 0
    )
  }
}

function cellOf(filter: TopicFilter): number {
  if (!hasWildcard(filter)) return wholeNameCell(hashOf(filter, filter.length))
  const end = watchedEnd(filter)
  return end === undefined ? rootCell : levelsCell(hashOf(filter, end))
}

/** Where the last watched level in front of the first wildcard ends, undefined where there is none. */
function watchedEnd(filter: TopicFilter): number | undefined {
  let end: number | undefined
  let start = 0
  for (let depth = 0; depth < watchedDepth; depth += 1) {
    const first = filter[start]
    if (first === '+' || first === '#') return end
    const separatorAt = filter.indexOf('/', start)
    // The wildcard is still ahead, so there is a separator in front of it.
    end = separatorAt
    start = separatorAt + 1
  }
  return end
}

/** FNV-1a over the UTF-16 units of `text` up to `end`. */
function hashOf(text: string, end: number): number {
  let hash = 0x811c9dc5 | 0
  for (let at = 0; at < end; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return hash
}

const levelsCell = (hash: number): number => ((hash >>> 16) ^ hash) & (cellCount - 1)

/** Not the cell of the same text as first levels: a change of `a` must not count for `a/b`. */
const wholeNameCell = (hash: number): number => levelsCell(Math.imul(hash ^ separator, 0x01000193))
