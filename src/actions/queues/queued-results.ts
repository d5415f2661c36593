// Results that wait in the action queue: list them, and move them to the dead letters.

import type { ActionDelivery } from '../delivery/action-delivery.ts'
import type { QueuedEntry } from '../delivery/attempted-entries.ts'
import type { QueuedResultReport } from '../plan/rule-reports.ts'
import { isOfDeadLetters, readQueueSalt } from './queue-names.ts'
import { findRule, selectVisibleAttributes } from '../results/entry-attributes.ts'
import type { RunningAction } from './running-action.ts'
import { formatResultColumns } from '../results/stored-results.ts'

/** Maximum number of results in lists, and that one request moves: the oldest ones. */
const maxVisible = 1_000
const discardedText = 'moved to the dead letters by an administrator'

/** Returns the oldest results that wait for the service on this shard. */
export function listQueuedResults(running: RunningAction | undefined): readonly QueuedResultReport[] {
  return listQueues(running)
    .flatMap((delivery) => delivery.listOldestEntries(maxVisible).map((entry) => toQueuedResultReport(delivery, entry)))
    .slice(0, maxVisible)
}

/** Moves one result, or all that are listed, to the dead letters. Returns their number. */
export function discardQueuedResults(running: RunningAction | undefined, id: string | undefined): number {
  let count = 0
  for (const delivery of listQueues(running)) {
    const [, sequence] = id?.split('-') ?? []
    if (id === undefined) count += delivery.discard(undefined, discardedText, maxVisible - count)
    else if (id === toResultId(delivery, Number(sequence)))
      count += delivery.discard(Number(sequence), discardedText, maxVisible)
  }
  return count
}

function listQueues(running: RunningAction | undefined): readonly ActionDelivery[] {
  // Dead letters of other shards are only moved to the session of this shard.
  return running?.deliveries.filter(({ clientId }) => !isOfDeadLetters(clientId)) ?? []
}

function toResultId({ clientId }: ActionDelivery, sequence: number): string {
  return `${readQueueSalt(clientId)}-${sequence}`
}

function toQueuedResultReport(
  delivery: ActionDelivery,
  { sequence, entry, prepared, refusals, why }: QueuedEntry,
): QueuedResultReport {
  return {
    id: toResultId(delivery, sequence),
    refusals,
    why,
    rule: findRule(entry) ?? '',
    attributes: selectVisibleAttributes(prepared),
    payload: prepared.payload,
    result: entry.result === undefined ? '' : formatResultColumns(entry.result),
  }
}
