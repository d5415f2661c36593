// What else a random story may have, whatever its trouble: the seed decides about each by itself.

import type { Random } from './random.ts'

export interface Twists {
  /** Clients may not publish, receive or subscribe to everything; `changing`: and what they may changes meanwhile. */
  readonly denials: 'none' | 'fixed' | 'changing'
  /** What a client may do is asked of somebody who takes time. */
  readonly asksPermission: boolean
  /** Operators send clients away, and keep some from coming back for a while. */
  readonly operators: boolean
  /** Put before every topic of every client; '': nothing. */
  readonly mountpoint: string
  /** `$exclusive/...` is there and used. */
  readonly exclusive: boolean
  /** Sessions that end soon, and clients that say so when they go. */
  readonly briefSessions: boolean
  /** Clients come back with another version of MQTT. */
  readonly otherVersions: boolean
  /** Clients that take packets up to a size only. */
  readonly smallPackets: boolean
  /** What is said from shard to shard may be on its way for so long. */
  readonly slowLinkMs: number
}

export function drawTwists(random: Random): Twists {
  return {
    denials: random.pick(['none', 'none', 'fixed', 'changing'] as const),
    asksPermission: random.chance(0.1),
    operators: random.chance(0.2),
    mountpoint: random.chance(0.1) ? 'site/' : '',
    exclusive: random.chance(0.2),
    briefSessions: random.chance(0.2),
    otherVersions: random.chance(0.2),
    smallPackets: random.chance(0.15),
    slowLinkMs: random.pick([0, 0, 0, 200]),
  }
}
