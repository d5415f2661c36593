// Replies with the tree of all subscribed filters. It reads all subscriptions.

import type { ClientQueries } from '../clients/client-queries.ts'
import {
  type ListPosition,
  type ShardUnavailable,
  type ApiError,
  refuse,
  JsonText,
  toShardUnavailableError,
  beginning,
} from '../../management/index.ts'
import { toClientName } from '../context/client-name.ts'
import type { SubscriptionView } from '../../core/index.ts'
import { writeFilter } from '../../protocol/index.ts'
import { TopicTree } from './topic-tree.ts'

/** Maximum memory for one request: nodes and clients of the tree. */
const maxKeptBytes = 2_000_000
const allRows = Number.MAX_SAFE_INTEGER

export async function replyWithTopicTree(clients: ClientQueries): Promise<JsonText | ApiError> {
  const tree = new TopicTree()
  const refusal = await visitAll(clients, ({ filter, clientId }) => {
    tree.add(writeFilter(filter), toClientName(clientId).clientid)
    return tree.size <= maxKeptBytes
  })
  return refusal ?? new JsonText('{"code":0,"data":[', splitIntoTurns(tree.formatLevels()))
}

async function* splitIntoTurns(pieces: Iterable<string>): AsyncGenerator<string> {
  for (const piece of pieces) {
    yield piece
    await new Promise((resolve) => setImmediate(resolve))
  }
  yield ']}'
}

/** `visit` returns whether there is memory for more. */
async function visitAll(
  clients: ClientQueries,
  visit: (subscription: SubscriptionView) => boolean,
): Promise<ApiError | undefined> {
  let at: ListPosition | undefined = beginning
  while (at !== undefined) {
    const slice: Awaited<ReturnType<ClientQueries['listSubscriptions']>> | ShardUnavailable =
      await clients.listSubscriptions({}, { from: at, skip: 0, maxRows: allRows })
    if ('unavailableShard' in slice) return toShardUnavailableError(slice)
    for (const row of slice.rows) {
      if (!visit(row))
        return refuse(
          'unknownError',
          'there are too many subscriptions for one reply: read /subscriptions with _cursor',
        )
    }
    at = slice.next
  }
  return undefined
}
