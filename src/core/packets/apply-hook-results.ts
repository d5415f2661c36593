// Publications continue after the hooks of plugins, in the order of their packets.

import { endConnection } from '../connect/close-connection.ts'
import type { Connection } from '../model/connection.ts'
import { readPauseReasons, resumeReading } from '../outgoing/read-pause-reasons.ts'
import { acceptDetached } from '../publish/accept-detached.ts'
import { getState, type Open } from '../state/connection-state.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { HookEntry } from '../state/hooks/hook-queue.ts'
import { PublishAttempt } from '../state/publish-attempt.ts'
import { reasonCodes } from '../../protocol/index.ts'
import { createMessage, runLastSteps } from './handle-publish.ts'
import { denyHooked, dropHooked } from './accept-publish.ts'

/** Returns true if no publication waits any more. */
export function applyHookResults(state: BrokerState, connection: Connection, open: Open): boolean {
  for (let queue = open.hooking; queue !== undefined; queue = open.hooking) {
    const entry = queue.entries.shift()
    if (queue.entries.length === 0) open.hooking = undefined
    if (entry === undefined) break
    if (entry.result === undefined) {
      queue.entries.unshift(entry)
      open.hooking = queue
      return false
    }
    // An earlier connection of the session has received it.
    if (entry.connection === connection) applyResult(state, open, entry)
    else acceptDetached(state, queue, entry)
    if (getState(connection) !== open || state.waiting.isHeld(connection)) return false
    const isFew = queue.entries.length + connection.unacknowledgedPublishes < state.settings.receiveMaximum / 2
    if (isFew && open.parked === undefined && !state.hooks.publish.isFull)
      resumeReading(state, connection, readPauseReasons.hooks)
  }
  return true
}

function applyResult(state: BrokerState, open: Open, entry: HookEntry): void {
  const { connection, packet, named, result } = entry
  const attempt = (state.attempt ??= new PublishAttempt(connection, open, packet, named))
  attempt.resume(entry, open)
  if (result?.action === 'drop')
    return dropHooked(state, attempt, { message: createMessage(state, attempt), dropped: result })
  if (result?.action === 'deny') return denyHooked(state, attempt, createMessage(state, attempt), result.plugin)
  if (result?.action === 'change' && result.topic !== undefined) {
    const topic = state.topics.internName(result.topic)
    if (topic.levels > state.settings.maxTopicLevels || topic.bytes.length > state.settings.maxTopicBytes) {
      const text = `plugin ${result.plugin} changed the topic to one that is too long`
      return endConnection(state, connection, { reason: reasonCodes.topicNameInvalid, text, publishWill: true })
    }
    attempt.target = topic
  }
  runLastSteps(state, attempt)
}
