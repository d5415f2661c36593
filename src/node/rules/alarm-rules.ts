// Triggers rules of `$events/sys/alarm_activated` and `$events/sys/alarm_deactivated`. Alarms are raised on the main thread, and rules run on
// shards.

import type { Alarm } from '../observe/raised-alarms.ts'
import type { ShardSupervisor } from '../shards/shard-supervisor.ts'

/** Runs the rules on one shard. If an active alarm is raised again, no rule runs. */
export function runRulesForAlarm(
  shards: Pick<ShardSupervisor, 'sendToOne'>,
  change: 'activate' | 'deactivate',
  alarm: Alarm,
): void {
  const isActivated = change === 'activate'
  if (isActivated && alarm.occurrences > 1) return
  const kind = isActivated ? 'alarm-activated' : 'alarm-deactivated'
  const atMs = alarm.deactivatedAtMs ?? alarm.activatedAtMs
  shards.sendToOne({ kind: 'alarm', trigger: { kind, atMs, ...alarm } })
}
