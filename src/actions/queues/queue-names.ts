// Names that belong to the queues of an action.

import { toActionClientId, actionClientPrefix, type PeerNumber, computeOwnerShard } from '../../core/index.ts'
import type { AlarmName } from '../../telemetry/index.ts'

/** Returns true if the session has the dead letters of an action. */
export function isOfDeadLetters(clientId: string): boolean {
  return clientId.startsWith(`${actionClientPrefix}d`)
}

/** Returns what distinguishes the action queues of one action, such as `q0`. */
export function readQueueSalt(clientId: string): string {
  return clientId.slice(actionClientPrefix.length).split('/')[0] ?? ''
}

/** Returns the name of the alarm of an action. */
export function toAlarmName(id: string): AlarmName {
  return `action:${id}`
}

interface ShardOfAction {
  readonly own: PeerNumber
  readonly shards: number
}

/** Returns a client ID for the queue or the dead letters of an action, whose session belongs to this shard. */
export function createOwnClientId({ own, shards }: ShardOfAction, action: string, kind: 'q' | 'd'): string {
  for (let salt = 0; ; salt++) {
    const clientId = toActionClientId(action, `${kind}${salt}`)
    if (computeOwnerShard(clientId, shards) === own) return clientId
  }
}
