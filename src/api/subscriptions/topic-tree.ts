// All subscriptions as a tree of levels.
//
//   a/b, a/c, x      root ── a ── b          levels:  [ root 2 ]  [ a 2, x 0 ]  [ b 0, c 0 ]
//                      └─ x  └── c

/** Number of nodes that are written in one piece. */
const nodesPerPiece = 500

interface TreeNode {
  readonly level: string
  readonly children: Map<string, TreeNode>
  clients: string[] | undefined
}

export class TopicTree {
  readonly #root: TreeNode = createNode('')
  size = 0

  add(filter: string, clientId: string): void {
    let node = this.#root
    for (const level of filter.split('/')) {
      let child = node.children.get(level)
      if (child === undefined) {
        child = createNode(level)
        node.children.set(level, child)
        this.size++
      }
      node = child
    }
    node.clients ??= []
    node.clients.push(clientId)
    this.size++
  }

  /**
   * Returns JSON of the levels, each an array, without the enclosing brackets. The order of nodes determines their
   * parents.
   */
  *formatLevels(): IterableIterator<string> {
    for (let level = [this.#root]; level.length > 0;) {
      yield level[0] === this.#root ? '[' : ',['
      const next: TreeNode[] = []
      for (let from = 0; from < level.length; from += nodesPerPiece) {
        const piece = level.slice(from, from + nodesPerPiece)
        for (const { children } of piece) for (const child of children.values()) next.push(child)
        yield `${from === 0 ? '' : ','}${piece.map(writeNode).join(',')}`
      }
      yield ']'
      level = next
    }
  }
}

function createNode(level: string): TreeNode {
  return { level, children: new Map(), clients: undefined }
}

function writeNode({ level, children, clients }: TreeNode): string {
  const who = clients === undefined ? {} : { clientid: clients }
  return JSON.stringify({ topic: level, cld_cnt: children.size, ...who })
}
