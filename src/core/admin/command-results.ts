// Results of API commands: at once, or after the commits that they wait for.
//
//   command ──► done, nothing to wait for ──────────────────► command-done
//           ──► done, CommitBarrier { own batch, peers } ──complete─► command-done
//                                                        ──store fails─► command-done: storage-failing

import type { Parts } from '../state/parts.ts'
import type { OutputLists } from '../state/output-lists.ts'
import type { RequestId } from '../model/inputs.ts'
import type { CommandResult } from '../model/outputs.ts'
import type { CommitBarrier } from '../model/commit-barrier.ts'

export function completeCommand(outputs: OutputLists, requestId: RequestId, result: CommandResult): void {
  outputs.events.push({ event: 'command-done', requestId, result })
}

/** Completes the command when the barrier is complete; a refusal of a peer is its result. */
export function completeCommandWhenCommitted(
  state: Parts<'outputs' | 'storage'>,
  requestId: RequestId,
  { result, barrier }: { result: CommandResult; barrier: CommitBarrier },
): void {
  if (barrier.isComplete) return completeCommand(state.outputs, requestId, toFinalResult(result, barrier))
  state.storage.pendingCommands.add(requestId)
  barrier.runWhenComplete(() => {
    if (state.storage.pendingCommands.delete(requestId))
      completeCommand(state.outputs, requestId, toFinalResult(result, barrier))
  })
}

/** Completes all waiting commands with `storage-failing`. Their changes are written when the store works again. */
export function failPendingCommands(state: Parts<'outputs' | 'storage'>): void {
  for (const requestId of state.storage.pendingCommands)
    completeCommand(state.outputs, requestId, { done: false, why: 'storage-failing' })
  state.storage.pendingCommands.clear()
}

function toFinalResult(result: CommandResult, barrier: CommitBarrier): CommandResult {
  return barrier.refusal === undefined ? result : { done: false, why: 'receiver-full' }
}
