// Publications of one client that wait for hooks of plugins, in the order of their packets. They take effect in this order.
//
//   PUBLISH ──► entry (call started) ──response──► first in the queue? ──► next steps
//   other packets wait behind the queue, in `Open.parked`; PINGREQ does not

import type { PublishPacket, Topic } from '../../../protocol/index.ts'
import type { Connection } from '../../model/connection.ts'
import type { PublishHookResult } from '../../model/publish-hook.ts'
import type { Session } from '../sessions/session.ts'

/** When the message of a `$delayed/` topic is due. */
export interface Due {
  readonly dueAtMs: number
}

/** The steps before the hooks have their result in these fields: see `PublishAttempt`. */
export interface HookEntry {
  readonly connection: Connection
  readonly packet: PublishPacket
  readonly named: Topic
  readonly topic: Topic
  /** Without mount point. */
  readonly target: Topic
  readonly isDelayed: boolean
  readonly delay: Due | undefined
  readonly isDenied: boolean
  /** Undefined: the response is missing. */
  result: PublishHookResult | undefined
}

export class HookQueue {
  readonly session: Session
  /** Undefined: the client is not connected. */
  connection: Connection | undefined
  readonly entries: HookEntry[] = []

  constructor(session: Session, connection: Connection) {
    this.session = session
    this.connection = connection
  }

  /** [MQTT-4.3.3-2] Returns whether a message with this packet identifier waits: the packet is a duplicate of it. */
  hasQoS2(packetId: number): boolean {
    return this.entries.some(({ packet }) => packet.qos === 2 && packet.packetId === packetId)
  }
}
