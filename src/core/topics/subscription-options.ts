import type { QoS, RetainHandling } from '../../protocol/index.ts'

/** What a subscriber asked for beside the filter, as granted. */
export interface SubscriptionOptions {
  readonly qos: QoS
  /** Not to get its own messages through this subscription [MQTT5-3.8.3-3]. */
  readonly noLocal: boolean
  /** To see the retain flag as the publisher set it [MQTT5-3.3.1-12, -13]. */
  readonly retainAsPublished: boolean
  readonly retainHandling: RetainHandling
  /** 1 to 268,435,455, or none. */
  readonly identifier: number | undefined
  /** A message that was published with less is delivered with so much; 0 but for bridges, whose rules may say so. */
  readonly raisesTo: QoS
}
