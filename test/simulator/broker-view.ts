// What a broker with several shards reports: details come from the shard that has them, numbers are sums over all shards.

import {
  computeTopicShard,
  type BrokerCore,
  type DropReason,
  type RefusalCause,
  type MemoryUse,
} from '../../src/core/index.ts'
import type { Topic } from '../../src/protocol/index.ts'

type CoreView = BrokerCore['view']

export type WorldView = Pick<
  CoreView,
  | 'hasMoreWork'
  | 'connections'
  | 'sessions'
  | 'retainedMessages'
  | 'counts'
  | 'findClient'
  | 'walkClients'
  | 'findSubscriptions'
  | 'findRetained'
  | 'listNearlyFullSessions'
> & { readonly memory: Pick<CoreView['memory'], 'get'> }

/** `stored`: number of stored shards, whose views come first. `viewOf`: returns the view of the shard of a client. */
export function combinedView(
  views: readonly CoreView[],
  { stored, viewOf }: { stored: number; viewOf: (clientId: string) => CoreView },
): WorldView {
  const [first] = views
  if (views.length === 1 && first !== undefined) return first
  const sum = (of: (view: CoreView) => number): number => views.reduce((total, view) => total + of(view), 0)
  return {
    get hasMoreWork() {
      return views.some((view) => view.hasMoreWork)
    },
    listNearlyFullSessions: (max) => views.flatMap((view) => view.listNearlyFullSessions(max)),
    get connections() {
      return sum((view) => view.connections)
    },
    get sessions() {
      return sum((view) => view.sessions)
    },
    get retainedMessages() {
      return sum((view) => view.retainedMessages)
    },
    get counts() {
      const reasons = Object.keys(views[0].counts.dropped) as DropReason[]
      const dropped = reasons.map((reason) => [reason, sum((view) => view.counts.dropped[reason])])
      const causes = Object.keys(views[0].counts.refused) as RefusalCause[]
      const refused = causes.map((cause) => [cause, sum((view) => view.counts.refused[cause])])
      return {
        refused: Object.fromEntries(refused) as Record<RefusalCause, number>,
        publishesReceived: sum((view) => view.counts.publishesReceived),
        publishesSent: sum((view) => view.counts.publishesSent),
        publishesLeftWaiting: sum((view) => view.counts.publishesLeftWaiting),
        deferredDeliveries: sum((view) => view.counts.deferredDeliveries),
        subscriptionsRefusedByRate: sum((view) => view.counts.subscriptionsRefusedByRate),
        dropped: Object.fromEntries(dropped) as Record<DropReason, number>,
        droppedForNewer: sum((view) => view.counts.droppedForNewer),
        withoutSubscribers: sum((view) => view.counts.withoutSubscribers),
      }
    },
    memory: { get: (use: MemoryUse) => sum((view) => view.memory.get(use)) },
    findClient: (clientId: string) => viewOf(clientId).findClient(clientId),
    *walkClients() {
      for (const view of views) yield* view.walkClients()
    },
    findSubscriptions: (clientId: string) => viewOf(clientId).findSubscriptions(clientId),
    findRetained: (topic: Topic): ReturnType<CoreView['findRetained']> =>
      views[computeTopicShard(topic.name, stored)].findRetained(topic),
  }
}
