// Messages of shared subscriptions that another member must receive.

import { SharedRedelivery, type EndedSessionQueue, type SharedHandoff } from './sessions/shared-redelivery-state.ts'
import type { Session } from './sessions/session.ts'

export class SharedState {
  readonly redelivery = new SharedRedelivery<Session>()
  /** Restored at the start, and sent when restore is complete: see `shared/shared-handoff.ts`. */
  readonly restoredHandoffs: SharedHandoff[] = []
  /** Queues of ended sessions by name, in the order of reading: see `shared/expired-session-redelivery.ts`. */
  readonly endedSessionQueues = new Map<string, EndedSessionQueue>()
}
