import type { QoS, RetainHandling } from '../../protocol/index.ts'

/** Granted options of a subscription. */
export interface SubscriptionOptions {
  readonly qos: QoS
  /** The client does not get its own messages through this subscription [MQTT5-3.8.3-3]. */
  readonly noLocal: boolean
  /** Messages keep the publisher's RETAIN flag [MQTT5-3.3.1-12, -13]. */
  readonly retainAsPublished: boolean
  readonly retainHandling: RetainHandling
  /** 1 to 268,435,455, or undefined. */
  readonly identifier: number | undefined
  /** Messages published with a lower QoS are delivered with this one; 0 except for bridges, whose rules may set it. */
  readonly raisesTo: QoS
}
