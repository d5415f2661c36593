// One message on its way to one session at QoS 1 or 2, from the moment it is matched until the client has
// acknowledged it.
//
//   waiting --PUBLISH--> sent --PUBACK--> done                      (QoS 1)
//   waiting --PUBLISH--> sent --PUBREC--> received --PUBCOMP--> done    (QoS 2)

import type { PacketId, QoS } from '../../../protocol/index.ts'
import type { Message } from '../../model/message.ts'

export type DeliveryStage = 'waiting' | 'sent' | 'received'

const stages: readonly DeliveryStage[] = ['waiting', 'sent', 'received']
/** The bits of `Delivery.bits`: QoS, retain, whether it was sent, stage. */
const qosMask = 3
const retainBit = 4
const sentBit = 8
const stageShift = 4
const belowStage = 15

/**
 * `Group`: what stands for a shared group; nothing here looks inside. Deliveries in flight are many more than fit into the caches of a
 * processor: one field more costs 5 % of the throughput where 20 subscribers get each message at QoS 1.
 */
export class Delivery<Group extends object> {
  /** Undefined once PUBREC has come, or after a restart for what had reached that stage before. */
  message: Message | undefined
  readonly subscriptionIdentifiers: readonly number[] | undefined
  /** The batch behind which its last sending waits, 0 where it waited for none. */
  sentWithBatch: number
  packetId: PacketId
  sentAtMs: number
  /** Grows with each sending for the first time: the order of re-sending [MQTT-4.6.0-1]. */
  sendOrder: number
  /** The sequence of its queued record, 0 where nothing is stored. */
  sequence: number
  /** The batch that stores it and its place there, so that it can be struck while it is still gathering. */
  putBatch: number
  putIndex: number
  /** What it counts for in memory, 0 where it does not: see `../delivery/held-bytes.ts`. */
  heldBytes: number
  /** The shared group that chose this session, where one did. */
  readonly group: Group | undefined
  /** Four small values in one field: with a field for each, 20 subscribers at QoS 1 got 5 to 10 % fewer messages. */
  private bits: number

  constructor(message: Message | undefined, from: DeliverySource<Group>) {
    this.message = message
    this.subscriptionIdentifiers = from.subscriptionIdentifiers
    this.sentWithBatch = 0
    this.packetId = 0
    this.sentAtMs = 0
    this.sendOrder = 0
    this.sequence = 0
    this.putBatch = 0
    this.putIndex = 0
    this.heldBytes = 0
    this.group = from.group
    this.bits = from.retain ? from.qos | retainBit : from.qos
  }

  get qos(): QoS {
    return (this.bits & qosMask) as QoS
  }

  /** The retain flag to send it with. */
  get retain(): boolean {
    return (this.bits & retainBit) !== 0
  }

  /** It may have been sent before: DUP on the next sending. */
  get wasSent(): boolean {
    return (this.bits & sentBit) !== 0
  }

  set wasSent(wasSent: boolean) {
    this.bits = wasSent ? this.bits | sentBit : this.bits & ~sentBit
  }

  get stage(): DeliveryStage {
    return stages[this.bits >> stageShift]
  }

  set stage(stage: DeliveryStage) {
    const number = stage === 'waiting' ? 0 : stage === 'sent' ? 1 : 2
    this.bits = (this.bits & belowStage) | (number << stageShift)
  }
}

export interface DeliverySource<Group extends object> {
  readonly qos: QoS
  readonly retain: boolean
  readonly subscriptionIdentifiers: readonly number[] | undefined
  readonly group: Group | undefined
}
