// Dead letters of an action on this shard, for the API: list, delete, and send them again.

import type { Command, CommandResult, RulePublication } from '../../core/index.ts'
import type { RetryProgress } from '../delivery/dead-letter-retry.ts'
import type { DeadLetterReport } from '../plan/rule-reports.ts'
import type { DeadLetter } from '../delivery/dead-letters.ts'
import { findRule, selectVisibleAttributes } from '../results/entry-attributes.ts'
import { formatResultColumns } from '../results/stored-results.ts'
import { describeFailure } from '../results/action-outcome.ts'
import type { RunningAction } from './running-action.ts'

/** A request of the API waits so long for the end of a job. Later, it gets its progress. */
const maxWaitMs = 5_000

const nothing: RetryProgress = { isRunning: false, sent: 0, stayed: 0, pending: 0, why: '' }

export function listDeadLetters(running: RunningAction | undefined): readonly DeadLetterReport[] {
  return running?.deadLetters.list().map(toDeadLetterReport) ?? []
}

/** Deletes all listed dead letters, or one. Returns the number of deleted ones. */
export function deleteDeadLetters(running: RunningAction | undefined, letter: number | undefined): number {
  return running?.deadLetters.delete(letter) ?? 0
}

/** Sends all dead letters again, or one. The job continues if it lasts longer than a request. */
export async function retryDeadLetters(
  running: RunningAction | undefined,
  letter: number | undefined,
): Promise<RetryProgress> {
  if (running === undefined) return nothing
  return letter === undefined ? running.retry.retryAll(maxWaitMs) : running.retry.retryOne(letter)
}

export function readRetryProgress(running: RunningAction | undefined): RetryProgress {
  return running?.retry.progress ?? nothing
}

/** Returns a function that stores entries in this action queue: all in one batch, or none. It returns why it could not store them. */
export function createQueueStore(
  commands: { run(command: Command): Promise<CommandResult> },
  clientId: string,
): (publication: RulePublication, further: readonly RulePublication[]) => Promise<string | undefined> {
  return async (publication, further) => {
    const result = await commands.run({ name: 'store-in-action-queue', clientId, publication, further })
    if (result.done) return undefined
    return textsOfFailures[result.why] ?? result.why
  }
}

const textsOfFailures: Readonly<Record<string, string>> = {
  'receiver-full': describeFailure('action-queue-full'),
  'no-such-client': describeFailure('no-action-queue'),
  'storage-failing': describeFailure('storage-failing'),
}

/** Returns the form of a dead letter for the API. */
function toDeadLetterReport({ id, why, atMs, entry }: DeadLetter): DeadLetterReport {
  const attributes = selectVisibleAttributes(entry)
  const result = entry.result === undefined ? '' : formatResultColumns(entry.result)
  return { id, why, atMs, rule: findRule(entry) ?? '', attributes, payload: entry.payload, result }
}
