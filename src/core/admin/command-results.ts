// What the operator is answered, when it is true: at once, or with the disks that it waits for.
//
//   command ──► done, nothing to wait for ──────────────────► command-done
//           ──► done, Vow { own batch, other shards } ──kept─► command-done
//                                                     ──the disk fails─► command-done: storage-failing

import type { BrokerState } from '../state/broker-state.ts'
import type { QuestionId } from '../model/inputs.ts'
import type { CommandResult } from '../model/outputs.ts'
import type { Vow } from '../model/commit-barrier.ts'

export function answerCommand(state: BrokerState, question: QuestionId, result: CommandResult): void {
  state.events.push({ event: 'command-done', question, result })
}

/** Once the vow is kept. Where another shard has not taken it, that is the answer. */
export function answerCommandWhenKept(
  state: BrokerState,
  question: QuestionId,
  { result, vow }: { result: CommandResult; vow: Vow },
): void {
  if (vow.isKept) return answerCommand(state, question, resultOf(result, vow))
  state.unsettledCommands.add(question)
  vow.whenKept(() => {
    if (state.unsettledCommands.delete(question)) answerCommand(state, question, resultOf(result, vow))
  })
}

/** Whoever waits hears that nobody knows when the disk has it; it is written when the disk serves again. */
export function failUnsettledCommands(state: BrokerState): void {
  for (const question of state.unsettledCommands)
    answerCommand(state, question, { done: false, why: 'storage-failing' })
  state.unsettledCommands.clear()
}

function resultOf(result: CommandResult, vow: Vow): CommandResult {
  return vow.refusal === undefined ? result : { done: false, why: 'receiver-full' }
}
