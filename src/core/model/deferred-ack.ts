// An acknowledgement that is not sent yet, because this one or an earlier one waits for a peer.

import type { AckType, ControlPacket, PacketId, ReasonCode } from '../../protocol/index.ts'
import type { CommitBarrier } from './commit-barrier.ts'

export interface Ack {
  readonly type: AckType
  readonly packetId: PacketId
  /** Sent to 5.0 clients only. */
  readonly reason?: ReasonCode
  /** Reason string for clients that requested problem information. */
  readonly text?: string | undefined
  /** Topic of the acknowledged message, for the record of a refusal. */
  readonly topic?: string
  /** The acknowledgement confirms changes of the open batch. */
  readonly waits: boolean
}

export interface DeferredAck {
  readonly ack: Ack | ControlPacket
  /** Undefined: it waits only for the acknowledgements before it. */
  readonly barrier: CommitBarrier | undefined
  /** Number of the batch that the packet confirms; 0 if it confirms no stored change, or if the barrier includes the batch. */
  readonly batch: number
}
