// An acknowledgement that is not sent yet, because it or one before it waits for a peer.

import type { AckType, ControlPacket, PacketId, ReasonCode } from '../../protocol/index.ts'
import type { CommitBarrier } from './commit-barrier.ts'

export interface Ack {
  readonly type: AckType
  readonly packetId: PacketId
  /** Sent to 5.0 clients only. */
  readonly reason?: ReasonCode
  /** It confirms changes of the open batch. */
  readonly waits: boolean
}

export interface DeferredAck {
  readonly ack: Ack | ControlPacket
  /** Undefined: it waits only for the acknowledgements before it. */
  readonly barrier: CommitBarrier | undefined
  /** The batch that it confirms; 0 if it confirms nothing stored, or if its barrier includes the batch. */
  readonly batch: number
}
