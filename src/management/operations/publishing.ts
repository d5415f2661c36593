// What the management asks of the node in the name of clients.

import type { MessageProperties, QoS, TopicFilter } from '../../protocol/index.ts'

export interface PublishingOperations {
  /** To all topics or to none. Resolves when it is safe: with the receipt where that was asked for. */
  publish(publication: Publication): Promise<{ readonly receipt: PublishReceipt | undefined } | OperationFailure>
  /** undefined: done, and on disk. */
  subscribe(clientId: string, filters: readonly TopicFilter[], qos: QoS): Promise<OperationFailure | undefined>
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

/** Why it was not done. */
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
    /** The shard is not there, or does not answer. */
    | 'no-answer'
}

/** What became of a publication; see the endpoint for what is counted. */
export interface PublishReceipt {
  readonly matched: number
  readonly sent: number
  readonly queued: number
  readonly dropped: number
  readonly missed: number
  readonly elsewhere: { readonly matched: number; readonly sent: number; readonly queued: number }
}
