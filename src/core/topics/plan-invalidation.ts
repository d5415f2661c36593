// Detects that a relevant subscription of a topic has changed, without visiting subscriptions and without a list of topics. Cells
// contain counters. Each change increments the counter of one cell.
//
// A topic watches ten cells, each found by a hash:
//
//   building/7/level/3/lamp
//   ├─ root cell            every topic
//   ├─ whole name           only this one
//   ├─ first levels         building   building/7   building/7/level   building/7/level/3
//   └─ level at its place   7 as the 2nd   level as the 3rd   3 as the 4th   lamp as the 5th
//
// A filter matches a topic only if the topic has all literal levels of the filter at their places. So a change of a filter may
// count in the cell of any of these levels, or of its literal beginning: every matching topic watches each of them. The cell that
// the fewest topics watch is used (`#watchers`):
//
//   building/7/level/3/lamp   its whole name: it has no wildcard
//   building/7/#              building/7                        (or 7 as the 2nd)
//   +/+/level/3/#             level as the 3rd or 3 as the 4th, whichever is rarer
//   #   +/+                   the root cell: all topics
//
// Topics share cells by hash, so a topic also notices unrelated changes. Then its plan is made again without need, which is
// correct. An attacker with colliding names, or a wrong estimate of `#watchers` (which counts forgotten topics too), only adds
// such work.
//
// Counters only grow. So the topic stores the *sum* of its cells, and an equal sum later means that none of them changed: ten
// loads and nine additions instead of ten comparisons with ten stored numbers.
//
// Sums are modulo 2^32. They could repeat only after 2^32 additions; an era ends long before, and a watch of another era is
// always stale. A watch also belongs to one set of cells: another broker has another era.

import type { TopicFilter, TopicName } from '../../protocol/index.ts'
import { hashStart, hashStep } from './hash-text.ts'

const separator = '/'.charCodeAt(0)
const cellCount = 65_536
const rootCell = 0
/** Maximum number of beginnings of the topic that have a cell each: of one level, of two levels, and so on. */
const watchedBeginnings = 4
/** The levels at the places 1 to this number have a cell each. Place 0 is the beginning of one level. */
const watchedPlaces = 4
/** One change can count up to ten times in a sum if hashes collide: 10 * 2^28 < 2^32. */
const changesPerEra = 2 ** 28

/** State of a topic: its cells, two in one number, and their sum at the last check. */
export class PlanWatch {
  era: object | undefined = undefined
  sum: number = 0
  readonly cells01: number
  readonly cells23: number
  readonly cells45: number
  readonly cells67: number
  readonly cell8: number

  constructor(name: TopicName) {
    const found = [computeNameCell(name), ...listLevelCells(name, name.length)]
    // A topic with few levels watches the root cell for the missing ones.
    const getCell = (at: number): number => found[at] ?? rootCell
    this.cells01 = getCell(0) | (getCell(1) << 16)
    this.cells23 = getCell(2) | (getCell(3) << 16)
    this.cells45 = getCell(4) | (getCell(5) << 16)
    this.cells67 = getCell(6) | (getCell(7) << 16)
    this.cell8 = getCell(8)
  }
}

/** The counters: 512 KiB, whatever the number of topics and subscriptions. */
export class PlanInvalidation {
  readonly #counts: Int32Array = new Int32Array(cellCount)
  /** Number of topics that started to watch each cell. */
  readonly #watchers: Uint32Array = new Uint32Array(cellCount)
  readonly #changesPerEra: number
  #changesLeft: number
  #era: object = {}

  /** `changesInOneEra`: only tests set it. */
  constructor(changesInOneEra: number = changesPerEra) {
    this.#changesPerEra = changesInOneEra
    this.#changesLeft = changesInOneEra
  }

  /** A subscription to `filter` (without `$share/group/`) was added, removed or changed. */
  touch(filter: TopicFilter): void {
    this.#counts[this.#chooseCell(filter)] += 1
    this.#changesLeft -= 1
    if (this.#changesLeft <= 0) this.beginEra()
  }

  /** Makes every watch stale. */
  beginEra(): void {
    this.#era = {}
    this.#changesLeft = this.#changesPerEra
  }

  /** Adds a topic that watches these cells. */
  addWatch(watch: PlanWatch): void {
    for (const pair of [watch.cells01, watch.cells23, watch.cells45, watch.cells67]) {
      this.#watchers[pair & 0xffff] += 1
      this.#watchers[pair >>> 16] += 1
    }
    this.#watchers[watch.cell8] += 1
  }

  /** Returns whether nothing relevant for the topic has changed since `renew`. May return false without need. */
  isCurrent(watch: PlanWatch): boolean {
    return watch.sum === this.#sumCounts(watch) && watch.era === this.#era
  }

  /** Returns whether `renew` was called for the watch here in this era. */
  isOfThisEra(watch: PlanWatch): boolean {
    return watch.era === this.#era
  }

  /** Makes the watch current. */
  renew(watch: PlanWatch): void {
    watch.era = this.#era
    watch.sum = this.#sumCounts(watch)
  }

  #sumCounts({ cells01, cells23, cells45, cells67, cell8 }: PlanWatch): number {
    const counts = this.#counts
    const early = counts[cells01 & 0xffff] + counts[cells01 >>> 16] + counts[cells23 & 0xffff] + counts[cells23 >>> 16]
    const late = counts[cells45 & 0xffff] + counts[cells45 >>> 16] + counts[cells67 & 0xffff] + counts[cells67 >>> 16]
    return (early + late + counts[cell8] + counts[rootCell]) | 0
  }

  #chooseCell(filter: TopicFilter): number {
    const wildcardAt = filter.search(/[+#]/)
    if (wildcardAt === -1) return computeNameCell(filter)
    let rarest = rootCell
    let fewest = Infinity
    for (const cell of listLevelCells(filter, wildcardAt)) {
      if (this.#watchers[cell] >= fewest) continue
      rarest = cell
      fewest = this.#watchers[cell]
    }
    return rarest
  }
}

/**
 * Returns the cells of the levels of a name or filter: its beginnings that end before `literalEnd`, and each literal
 * level at its place.
 */
function listLevelCells(text: string, literalEnd: number): number[] {
  const cells: number[] = []
  let beginning = hashStart
  let start = 0
  for (let place = 0; place <= watchedPlaces; place += 1) {
    let level = hashStep(hashStart, place)
    let at = start
    for (; at < text.length; at += 1) {
      const unit = text.charCodeAt(at)
      if (unit === separator) break
      beginning = hashStep(beginning, unit)
      level = hashStep(level, unit)
    }
    const isWildcard = text[start] === '+' || text[start] === '#'
    if (place < watchedBeginnings && at <= literalEnd && !isWildcard) cells.push(toCellNumber(beginning))
    if (place > 0 && !isWildcard) cells.push(toCellNumber(level))
    if (at === text.length) break
    beginning = hashStep(beginning, separator)
    start = at + 1
  }
  return cells
}

/** Returns the cell of a whole name. It differs from the cell of the same text as a beginning: a change of `a` must not count for `a/b`. */
function computeNameCell(name: string): number {
  let hash = hashStep(hashStart, separator)
  for (let at = 0; at < name.length; at += 1) hash = hashStep(hash, name.charCodeAt(at))
  return toCellNumber(hash)
}

const toCellNumber = (hash: number): number => ((hash >>> 16) ^ hash) & (cellCount - 1)
