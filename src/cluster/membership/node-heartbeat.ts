// What the main threads of two nodes send each other twice per second.

import type { Life } from '../peer-name.ts'

/** The server of a database and its timeline, which each promotion increases. */
export interface DatabaseServer {
  /** The same for all servers of a replicated database. */
  readonly systemIdentifier: string
  readonly timeline: number
}

export interface NodeHeartbeat {
  /** The sender. */
  readonly life: Life
  readonly wallClockMs: number
  readonly hasLease: boolean
  /** The server that the sender uses; undefined: none at the moment. */
  readonly server: DatabaseServer | undefined
  /** Version of the rows that the sender knows; 0: none. */
  readonly version: number
  /** Time since the sender has received a heartbeat of the receiver, or has begun to expect one. */
  readonly silenceMs: number
}
