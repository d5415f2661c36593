// Messages of shared subscriptions whose receiver could not take them.

import { SharedRedelivery, type EndedSessionQueue, type SharedHandoff } from './sessions/shared-redelivery-state.ts'
import type { Session } from './sessions/session.ts'

export class SharedState {
  readonly redelivery = new SharedRedelivery<Session>()
  /** Restored at the start and sent after restore is complete: see `shared/shared-handoff.ts`. */
  readonly restoredHandoffs: SharedHandoff[] = []
  /** By name, in the order of their end: see `shared/expired-session-redelivery.ts`. */
  readonly endedQueues = new Map<string, EndedSessionQueue>()
}
