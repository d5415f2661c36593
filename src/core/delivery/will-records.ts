// What is on disk of the will of a client, and for how long.
//
//   its client is there ──► due at a time ──► published: gone with the batch that has what it brought to this shard
//                                       \
//                                        ╰──► published and owed, until every shard that must keep it has it on disk
//
// Should this shard die, or stop, while a will is owed, it is published to the others again when it is back; not to the sessions
// here, which have it. It may come twice to a shard that had taken it before.

import type { BrokerState } from '../broker-state.ts'
import { toStored, type Message } from '../message.ts'
import { put, remove } from './stored-queue.ts'

export function recordWill(
  state: BrokerState,
  clientId: string,
  will: { message: Message; delaySeconds: number; dueAtMs: number | undefined },
): void {
  // A client has one record: what an earlier will of it is still owed to is in memory alone from here on.
  state.owedWills.delete(clientId)
  const { message, delaySeconds, dueAtMs } = will
  put(state, { kind: 'will', clientId, message: toStored(message), delaySeconds, dueAtMs })
}

/** Of one that was not published, or whose publishing is stored in this batch. */
export function forgetWill(state: BrokerState, clientId: string): void {
  state.owedWills.delete(clientId)
  remove(state, { kind: 'will', clientId })
}

/** The will has just been given out: what it has to wait for on other shards, if anything, is waited for. */
export function keepUntilTaken(state: BrokerState, clientId: string, message: Message): void {
  const vow = state.neighbours?.takeVow()
  if (vow === undefined) return
  recordOwed(state, clientId, message)
  vow.whenKept(() => {
    if (state.owedWills.get(clientId) === message) forgetWill(state, clientId)
  })
  vow.mark()
}

/** The session has been deleted, and with it all that is on disk of its client. */
export function keepOwedWill(state: BrokerState, clientId: string): void {
  const message = state.owedWills.get(clientId)
  if (message !== undefined) recordOwed(state, clientId, message)
}

/** `isRepeat` says of a record that the will has been published. */
function recordOwed(state: BrokerState, clientId: string, message: Message): void {
  const stored = { ...toStored(message), isRepeat: true }
  put(state, { kind: 'will', clientId, message: stored, delaySeconds: 0, dueAtMs: state.nowMs })
  state.owedWills.set(clientId, message)
}
