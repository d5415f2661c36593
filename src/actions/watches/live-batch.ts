// Messages that a dashboard page watches, from a shard to the node.

export interface LiveMessage {
  readonly topic: string
  readonly qos: number
  readonly retain: boolean
  /** Size of the whole payload. */
  readonly size: number
  /** Start of the payload. */
  readonly payload: Uint8Array
  /** '' if it is not a client. */
  readonly publisher: string
  /** Wall clock. */
  readonly atMs: number
}

export interface LiveBatch {
  readonly messages: readonly LiveMessage[]
  /** Number of messages that exceeded the limits. */
  readonly leftOut: number
}
