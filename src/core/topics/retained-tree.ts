// The retained message of each topic, found by topic and by filter.
//
//   root ── 'site' ─► node ── '1' ─► node ── 'temperature' ─► message site/1/temperature
//                      │              └───── 'humidity' ────► message site/1/humidity
//                      └───── '2' ─► message site/2/pressure/outside/east
//
// A message is stored as high as possible: instead of a node if it is the only one below that level. It moves down when a second
// topic is added. So a topic costs one entry of a Map and seldom a node. A message with others below it is stored in its node
// (`message`). An empty node is removed; a node with only one message stays unchanged, so that a cursor below it loses nothing.
//
// A cursor walks in slices while the tree changes. Its position is a walk of a LargeMap on each level. Such a walk visits every
// entry once that exists during the whole walk, and the nodes above a remaining message are never replaced. So each message whose
// topic is retained during the whole walk is returned exactly once. Messages that are added or deleted meanwhile may be returned
// or not.

import { matchesFilter, type TopicFilter, type TopicName } from '../../protocol/index.ts'
import { LargeMap, type LargeMapWalk } from './large-map.ts'

interface Retainable {
  readonly topicName: TopicName
}

class RetainedNode<M extends Retainable> {
  /** The message whose topic ends here. */
  message: M | undefined = undefined
  readonly children: LargeMap<RetainedNode<M> | M> = new LargeMap()

  get isEmpty(): boolean {
    return this.message === undefined && this.children.size === 0
  }
}

/** At most one message for each topic. */
export class RetainedTree<M extends Retainable> {
  readonly #root: RetainedNode<M> = new RetainedNode()
  readonly #measureBytes: (message: M) => number
  #count = 0
  #bytes = 0

  /** `bytesOf` returns the size of a message for `bytes`; it must not change while the message is here. */
  constructor(bytesOf: (message: M) => number = () => 0) {
    this.#measureBytes = bytesOf
  }

  /** Number of topics with a message. */
  get count(): number {
    return this.#count
  }

  /** The sum of `bytesOf` over all messages. */
  get bytes(): number {
    return this.#bytes
  }

  /** The tree has no nodes. */
  get isEmpty(): boolean {
    return this.#root.isEmpty
  }

  get(topic: TopicName): M | undefined {
    let node = this.#root
    for (let start = 0; ;) {
      const end = findLevelEnd(topic, start)
      const child = node.children.get(topic.slice(start, end))
      if (child === undefined) return undefined
      if (!(child instanceof RetainedNode)) return child.topicName === topic ? child : undefined
      if (end === topic.length) return child.message
      node = child
      start = end + 1
    }
  }

  /** Stores the message and returns the one before it on its topic. */
  set(message: M): M | undefined {
    const replaced = this.#put(message)
    this.#bytes += this.#measureBytes(message)
    if (replaced === undefined) this.#count += 1
    else this.#bytes -= this.#measureBytes(replaced)
    return replaced
  }

  /** Deletes the message of the topic and returns it. */
  delete(topic: TopicName): M | undefined {
    const nodes = [this.#root]
    const levels: string[] = []
    let removed: M | undefined
    for (let start = 0; ;) {
      const end = findLevelEnd(topic, start)
      const level = topic.slice(start, end)
      const node = nodes[nodes.length - 1]
      const child = node.children.get(level)
      if (child === undefined) return undefined
      if (!(child instanceof RetainedNode)) {
        if (child.topicName !== topic) return undefined
        node.children.delete(level)
        removed = child
        break
      }
      nodes.push(child)
      levels.push(level)
      if (end === topic.length) {
        removed = child.message
        child.message = undefined
        break
      }
      start = end + 1
    }
    pruneUpwards(nodes, levels)
    if (removed === undefined) return undefined
    this.#count -= 1
    this.#bytes -= this.#measureBytes(removed)
    return removed
  }

  /**
   * Starts a walk over all messages whose topics match `filter` (without `$share/group/`: shared subscriptions get none
   * [section 4.8.2]).
   */
  walkMatching(filter: TopicFilter): RetainedCursor<M> {
    return new TreeCursor(this.#root, filter)
  }

  #put(message: M): M | undefined {
    const topic = message.topicName
    let node = this.#root
    for (let start = 0; ;) {
      const end = findLevelEnd(topic, start)
      const level = topic.slice(start, end)
      let child = node.children.get(level)
      if (child === undefined) {
        node.children.set(level, message)
        return undefined
      }
      if (!(child instanceof RetainedNode)) {
        if (child.topicName === topic) {
          node.children.set(level, message)
          return child
        }
        child = moveDown(child, end)
        node.children.set(level, child)
      }
      if (end === topic.length) {
        const replaced = child.message
        child.message = message
        return replaced
      }
      node = child
      start = end + 1
    }
  }
}

/** Creates a node in place of the single message, which moves below it. */
function moveDown<M extends Retainable>(message: M, end: number): RetainedNode<M> {
  const node = new RetainedNode<M>()
  const topic = message.topicName
  if (end === topic.length) node.message = message
  else node.children.set(topic.slice(end + 1, findLevelEnd(topic, end + 1)), message)
  return node
}

/** `nodes[n + 1]` is the child of `nodes[n]` at `levels[n]`. */
function pruneUpwards<M extends Retainable>(nodes: readonly RetainedNode<M>[], levels: readonly string[]): void {
  for (let depth = nodes.length - 1; depth > 0; depth -= 1) {
    if (!nodes[depth].isEmpty) return
    nodes[depth - 1].children.delete(levels[depth - 1])
  }
}

function findLevelEnd(topic: string, start: number): number {
  const end = topic.indexOf('/', start)
  return end === -1 ? topic.length : end
}

export interface RetainedSlice<M> {
  readonly messages: M[]
  /** True if there are no more messages. A further call then returns an empty slice. */
  readonly isEnd: boolean
}

export interface RetainedCursor<M> {
  /** Visits at most `limitVisited` entries of the tree (at least 1), whether they match or not. */
  next(limitVisited: number): RetainedSlice<M>
}

/** The position of the cursor in one node: the level of the filter for its children, and the progress. */
interface Place<M extends Retainable> {
  readonly node: RetainedNode<M>
  readonly depth: number
  walk: LargeMapWalk<RetainedNode<M> | M> | undefined
}

class TreeCursor<M extends Retainable> implements RetainedCursor<M> {
  readonly #filter: TopicFilter
  readonly #levels: readonly string[]
  readonly #places: Place<M>[]

  constructor(root: RetainedNode<M>, filter: TopicFilter) {
    this.#filter = filter
    this.#levels = filter.split('/')
    this.#places = [{ node: root, depth: 0, walk: undefined }]
  }

  next(limitVisited: number): RetainedSlice<M> {
    const messages: M[] = []
    for (let visited = 0; visited < limitVisited; visited += 1) {
      const place = this.#places.at(-1)
      if (place === undefined) break
      this.#visitPlace(place, messages)
    }
    return { messages, isEnd: this.#places.length === 0 }
  }

  #visitPlace(position: Place<M>, messages: M[]): void {
    const wanted = this.#levels[position.depth]
    if (wanted !== '+' && wanted !== '#') {
      this.#places.pop()
      const child = position.node.children.get(wanted)
      if (child !== undefined) this.#visitChild(child, position.depth, messages)
      return
    }
    position.walk ??= position.node.children.walk()
    const entry = position.walk.next()
    if (entry === undefined) {
      this.#places.pop()
      return
    }
    const [level, child] = entry
    // [MQTT-4.7.2-1] A filter that begins with a wildcard does not match a topic that begins with $.
    if (this.#places.length === 1 && position.depth === 0 && level.startsWith('$')) return
    this.#visitChild(child, position.depth, messages)
  }

  /** Visits a child whose level matches the filter's level at `depth`. */
  #visitChild(child: RetainedNode<M> | M, depth: number, messages: M[]): void {
    const isBelowAll = this.#levels[depth] === '#'
    if (!(child instanceof RetainedNode)) {
      if (isBelowAll || matchesFilter(this.#filter, child.topicName)) messages.push(child)
      return
    }
    const nextDepth = isBelowAll ? depth : depth + 1
    const isLastLevel = nextDepth === this.#levels.length
    // `a/#` also matches `a`: `#` includes its parent level.
    const isWanted = isLastLevel || this.#levels[nextDepth] === '#'
    if (isWanted && child.message !== undefined) messages.push(child.message)
    if (!isLastLevel) this.#places.push({ node: child, depth: nextDepth, walk: undefined })
  }
}
