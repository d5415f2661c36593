// Results that wait in the action queue: list them, and move them to the dead letters.

import type { ActionDelivery } from '../delivery/action-delivery.ts'
import type { QueuedEntry } from '../delivery/attempted-entries.ts'
import type { QueuedResultReport } from '../plan/rule-reports.ts'
import { isOfDeadLetters, saltOfQueue } from './queue-names.ts'
import { ruleOf, visibleAttributes } from '../results/entry-attributes.ts'
import type { RunningAction } from './running-action.ts'
import { columnsOfResult } from '../results/stored-results.ts'

/** Maximum number of results in lists, and that one request moves: the oldest ones. */
const maxVisible = 1_000
const discardedText = 'moved to the dead letters by an administrator'

/** Returns the oldest results that wait for the service on this shard. */
export function queuedResults(running: RunningAction | undefined): readonly QueuedResultReport[] {
  return queuesOf(running)
    .flatMap((delivery) => delivery.oldestEntries(maxVisible).map((entry) => reportOf(delivery, entry)))
    .slice(0, maxVisible)
}

/** Moves one result, or all that are listed, to the dead letters. Returns their number. */
export function discardQueuedResults(running: RunningAction | undefined, id: string | undefined): number {
  let count = 0
  for (const delivery of queuesOf(running)) {
    const [, sequence] = id?.split('-') ?? []
    if (id === undefined) count += delivery.discard(undefined, discardedText, maxVisible - count)
    else if (id === idOf(delivery, Number(sequence)))
      count += delivery.discard(Number(sequence), discardedText, maxVisible)
  }
  return count
}

function queuesOf(running: RunningAction | undefined): readonly ActionDelivery[] {
  // Dead letters of other shards are only moved to the session of this shard.
  return running?.deliveries.filter(({ clientId }) => !isOfDeadLetters(clientId)) ?? []
}

function idOf({ clientId }: ActionDelivery, sequence: number): string {
  return `${saltOfQueue(clientId)}-${sequence}`
}

function reportOf(
  delivery: ActionDelivery,
  { sequence, entry, prepared, refusals, why }: QueuedEntry,
): QueuedResultReport {
  return {
    id: idOf(delivery, sequence),
    refusals,
    why,
    rule: ruleOf(entry) ?? '',
    attributes: visibleAttributes(prepared),
    payload: prepared.payload,
    result: entry.result === undefined ? '' : columnsOfResult(entry.result),
  }
}
