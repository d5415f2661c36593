// What can only be said of all subscriptions together: the tree of their levels, and the topics that are subscribed to.

import { bareFilter } from '../../protocol/index.ts'
import type { ClientOperations } from '../operations/clients.ts'
import type { ListPosition, Unanswered } from '../operations/lists.ts'
import { type Refusal, refuse, Refusal as RefusalValue } from '../refusal.ts'
import { WrittenJson } from '../written-json.ts'
import type { SubscriptionView } from '../../core/index.ts'
import { refuseSilent } from './answer-list.ts'
import { clientName } from './client-name.ts'
import { beginning, type Paging } from './paging.ts'
import { TopicTree } from './topic-tree.ts'

/** What is kept in memory to answer one request: nodes and clients of a tree, or topics. */
const mostKept = 2_000_000
const allRows = Number.MAX_SAFE_INTEGER

export async function answerTopicTree(clients: ClientOperations): Promise<WrittenJson | Refusal> {
  const tree = new TopicTree()
  const refusal = await visitAll(clients, ({ filter, clientId }) => {
    tree.add(filter, clientName(clientId).clientid)
    return tree.size <= mostKept
  })
  return refusal ?? new WrittenJson('{"code":0,"data":[', inTurns(tree.writtenLevels()))
}

async function* inTurns(pieces: Iterable<string>): AsyncGenerator<string> {
  for (const piece of pieces) {
    yield piece
    await new Promise((resolve) => setImmediate(resolve))
  }
  yield ']}'
}

interface Route {
  readonly topic: string
  readonly node: string
}

type RoutesReply = { code: 0; data: Route[]; meta?: { page: number; limit: number; count: number; hasnext: boolean } }

export async function answerRoutes(
  clients: ClientOperations,
  paging: Paging,
): Promise<RoutesReply | WrittenJson | Refusal> {
  const topics = new Set<string>()
  const refusal = await visitAll(clients, ({ filter }) => {
    topics.add(bareFilter(filter))
    return topics.size <= mostKept
  })
  if (refusal instanceof RefusalValue) return refusal
  const node = clients.nodeName
  if (paging.part !== 'page') return new WrittenJson('{"code":0,"data":[', inTurns(writtenRoutes(topics, node)))
  const { page, limit } = paging
  const data = [...topics].slice((page - 1) * limit, page * limit).map((topic) => ({ topic, node }))
  return { code: 0, data, meta: { page, limit, count: topics.size, hasnext: page * limit < topics.size } }
}

const routesInPiece = 1_000

function* writtenRoutes(topics: ReadonlySet<string>, node: string): IterableIterator<string> {
  let gathered: string[] = []
  let comma = ''
  for (const topic of topics) {
    gathered.push(JSON.stringify({ topic, node }))
    if (gathered.length < routesInPiece) continue
    yield `${comma}${gathered.join(',')}`
    gathered = []
    comma = ','
  }
  if (gathered.length > 0) yield `${comma}${gathered.join(',')}`
}

/** One or none. */
export async function routeOf(clients: ClientOperations, topic: string): Promise<RoutesReply | Refusal> {
  let at: ListPosition | undefined = beginning
  while (at !== undefined) {
    const slice: Awaited<ReturnType<ClientOperations['subscriptions']>> = await clients.subscriptions(
      { bareFilter: topic },
      { from: at, skip: 0, most: 1 },
    )
    if ('silentShard' in slice) return refuseSilent(slice)
    if (slice.rows.length > 0) return { code: 0, data: [{ topic, node: clients.nodeName }] }
    at = slice.next
  }
  return { code: 0, data: [] }
}

/** `visit` says whether there is room for more. */
async function visitAll(
  clients: ClientOperations,
  visit: (subscription: SubscriptionView) => boolean,
): Promise<Refusal | undefined> {
  let at: ListPosition | undefined = beginning
  while (at !== undefined) {
    const slice: Awaited<ReturnType<ClientOperations['subscriptions']>> | Unanswered = await clients.subscriptions(
      {},
      { from: at, skip: 0, most: allRows },
    )
    if ('silentShard' in slice) return refuseSilent(slice)
    for (const row of slice.rows) {
      if (!visit(row)) return refuse('unknownError', `there is too much for one answer: read /subscriptions by _cursor`)
    }
    at = slice.next
  }
  return undefined
}
