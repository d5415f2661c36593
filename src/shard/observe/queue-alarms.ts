// Alarms about persistent sessions whose queue is nearly full: one for each session. An abandoned session is named before it loses messages,
// or before publishers wait for it.

import type { NearlyFullSession } from '../../core/index.ts'
import type { AlarmName } from '../../telemetry/index.ts'

/** Maximum number of sessions of one shard with an alarm. */
const maxAlarms = 16
const msPerSecond = 1_000
const units = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
] as const

export interface QueueAlarmsDependencies {
  listNearlyFull(max: number): readonly NearlyFullSession[]
  nowMs(): number
  raiseAlarm(name: AlarmName, message: string): void
  endAlarm(name: AlarmName, message: string): void
}

export class QueueAlarms {
  readonly #dependencies: QueueAlarmsDependencies
  /** Client IDs with an alarm, and whether their queue was full when it was raised. */
  readonly #raised = new Map<string, boolean>()

  constructor(dependencies: QueueAlarmsDependencies) {
    this.#dependencies = dependencies
  }

  /** Raises and ends alarms. Called every few seconds. */
  check(): void {
    const dependencies = this.#dependencies
    const found = new Map(dependencies.listNearlyFull(maxAlarms).map((session) => [session.clientId, session]))
    for (const clientId of this.#raised.keys()) {
      if (found.has(clientId)) continue
      this.#raised.delete(clientId)
      dependencies.endAlarm(
        toAlarmName(clientId),
        `the queue of the session ${clientId} has space again, or the session has ended`,
      )
    }
    for (const [clientId, session] of found) {
      const isFull = session.storedMessages >= session.limit
      if (this.#raised.get(clientId) === isFull) continue
      this.#raised.set(clientId, isFull)
      dependencies.raiseAlarm(toAlarmName(clientId), formatAlarm(session, dependencies.nowMs()))
    }
  }
}

function toAlarmName(clientId: string): AlarmName {
  return `session-queue:${clientId}`
}

function formatAlarm(session: NearlyFullSession, nowMs: number): string {
  const { clientId, storedMessages, limit, lastSeenAtMs, dropsOldest } = session
  const percent = Math.floor((storedMessages / limit) * 100)
  const client =
    lastSeenAtMs === undefined
      ? 'its client is connected and too slow'
      : `its client was last seen ${formatDuration(nowMs - lastSeenAtMs)} ago`
  const effect = dropsOldest ? 'the session loses its oldest messages' : 'publishers wait or are refused'
  return (
    `the session ${clientId} has ${storedMessages} stored messages, ${percent} % of mqtt.max_stored_messages (${limit}); ${client}; ` +
    `at the limit ${effect} (mqtt.stored_messages_overflow)`
  )
}

/** The two largest units: `3 d 4 h`. */
function formatDuration(ms: number): string {
  let seconds = Math.max(0, Math.floor(ms / msPerSecond))
  const parts: string[] = []
  for (const [unit, size] of units) {
    const count = Math.floor(seconds / size)
    seconds -= count * size
    if (count > 0 || (unit === 's' && parts.length === 0)) parts.push(`${count} ${unit}`)
  }
  return parts.slice(0, 2).join(' ')
}
