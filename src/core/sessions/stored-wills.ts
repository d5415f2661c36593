// What is on disk of the will of a client, and for how long.
//
//   its client is there ──► due at a time ──► published: gone with the batch that has what it brought to this shard
//                                       \
//                                        ╰──► published and owed, until every shard that must keep it has it on disk
//
// A client has one record. What an earlier will of it is still owed to is kept under a reserved name, where a later one needs the place.
//
// Should this shard die, or stop, while a will is owed, it is published to the others again when it is back; not to the sessions
// here, which have it. It may come twice to a shard that had taken it before.

import type { BrokerState, PendingWill } from '../state/broker-state.ts'
import { toStored, type Message } from '../model/message.ts'
import { clientIdIn, isInternalName, reserveInternalName } from '../namespaces/internal-session-names.ts'
import { putRecord, deleteRecord } from '../queues/persistent-queue.ts'

export function recordWill(
  state: BrokerState,
  clientId: string,
  will: { message: Message; delaySeconds: number; dueAtMs: number | undefined },
): void {
  renamePendingWill(state, clientId)
  const { message, delaySeconds, dueAtMs } = will
  putRecord(state, { kind: 'will', clientId, message: toStored(message), delaySeconds, dueAtMs })
}

/** Of one that was not published, or whose publishing is stored in this batch. `name`: the client id, or a reserved one. */
export function deleteWill(state: BrokerState, name: string): void {
  state.owedWills.delete(name)
  if (isInternalName(name)) state.gathering.changes.push({ change: 'delete-session', clientId: name })
  else deleteRecord(state, { kind: 'will', clientId: name })
}

/** The will has just been given out: what it has to wait for on other shards, if anything, is waited for. */
export function storeUntilCommitted(state: BrokerState, name: string, message: Message): void {
  const vow = state.neighbours?.takeVow()
  if (vow === undefined) return
  renamePendingWill(state, name)
  const owed = { name, message }
  recordPendingWill(state, owed)
  vow.whenKept(() => {
    if (state.owedWills.get(owed.name) === owed) deleteWill(state, owed.name)
  })
  vow.mark()
}

/** The session has been deleted, and with it all that is on disk of its client. */
export function storePendingWill(state: BrokerState, clientId: string): void {
  const owed = state.owedWills.get(clientId)
  if (owed !== undefined) recordPendingWill(state, owed)
}

/** Another will needs the record that this client has. */
function renamePendingWill(state: BrokerState, clientId: string): void {
  const owed = state.owedWills.get(clientId)
  if (owed === undefined) return
  state.owedWills.delete(clientId)
  owed.name = reserveInternalName(state, clientIdIn(clientId))
  recordPendingWill(state, owed)
}

/** `isRepeat` says of a record that the will has been published. */
function recordPendingWill(state: BrokerState, owed: PendingWill): void {
  const stored = { ...toStored(owed.message), isRepeat: true }
  putRecord(state, { kind: 'will', clientId: owed.name, message: stored, delaySeconds: 0, dueAtMs: state.nowMs })
  state.owedWills.set(owed.name, owed)
}
