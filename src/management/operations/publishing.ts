// Actions in the name of clients, for the API.

import type { SubscribeCommandOptions } from '../../core/index.ts'
import type { MessageProperties, QoS, TopicFilter } from '../../protocol/index.ts'

export interface PublishingOperations {
  /** Publishes to all topics or to none. Resolves when the message is durable, with a receipt if requested. */
  publish(publication: Publication): Promise<{ readonly receipt: PublishReceipt | undefined } | OperationFailure>
  /** undefined: success, and durable. */
  subscribe(
    clientId: string,
    filters: readonly TopicFilter[],
    qos: QoS,
    options?: SubscribeCommandOptions,
  ): Promise<OperationFailure | undefined>
  unsubscribe(clientId: string, filters: readonly TopicFilter[]): Promise<OperationFailure | undefined>
}

export interface Publication {
  readonly topics: readonly [first: string, ...rest: string[]]
  readonly payload: Buffer
  readonly qos: QoS
  readonly retain: boolean
  readonly properties: MessageProperties | undefined
  readonly clientId: string
  readonly wantsReceipt: boolean
}

/** Why it failed. */
export interface OperationFailure {
  readonly why:
    | 'no-such-client'
    | 'invalid-topic'
    | 'storage-failing'
    | 'not-allowed'
    | 'too-large'
    | 'receiver-full'
    | 'shard-behind'
    | 'not-available'
    | 'quota-exceeded'
    /** The shard is restarting, or does not respond. */
    | 'no-response'
}

/** Deliveries of a publication; the endpoint describes the counts. */
export interface PublishReceipt {
  readonly matched: number
  readonly sent: number
  readonly queued: number
  readonly dropped: number
  readonly missed: number
  readonly elsewhere: { readonly matched: number; readonly sent: number; readonly queued: number }
}
