// Triggers rules of `$events/sys/alarm_activated` and `alarm_deactivated`: alarms belong to the node, rules to shards.

import type { Alarm } from '../observe/alarms.ts'
import type { ShardSupervisor } from '../shards/shard-supervisor.ts'

/** One shard runs the rules. Raising an active alarm again does not trigger them. */
export function runRulesForAlarm(
  shards: Pick<ShardSupervisor, 'sendToOne'>,
  what: 'activate' | 'deactivate',
  alarm: Alarm,
): void {
  const isActivated = what === 'activate'
  if (isActivated && alarm.occurrences > 1) return
  const kind = isActivated ? 'alarm-activated' : 'alarm-deactivated'
  const atMs = alarm.deactivatedAtMs ?? alarm.activatedAtMs
  shards.sendToOne({ kind: 'alarm', trigger: { kind, atMs, ...alarm } })
}
