// An answer to a client that must not leave yet, because it, or one in front of it, waits for another shard.

import type { AckType, ControlPacket, PacketId, ReasonCode } from '../../protocol/index.ts'
import type { CommitBarrier } from './commit-barrier.ts'

export interface Ack {
  readonly type: AckType
  readonly packetId: PacketId
  /** Said to 5.0 clients only. */
  readonly reason?: ReasonCode
  /** It stands for what is in the batch that is being gathered. */
  readonly waits: boolean
}

export interface DeferredAck {
  readonly ack: Ack | ControlPacket
  /** Undefined: it waits only for the acknowledgements before it. */
  readonly barrier: CommitBarrier | undefined
  /** The batch that it confirms; 0: it confirms nothing stored, or its barrier waits for the batch as well. */
  readonly batch: number
}
