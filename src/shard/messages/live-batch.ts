// Messages that a page watches, from a shard to the node.

export interface LiveMessage {
  readonly topic: string
  readonly qos: number
  readonly retain: boolean
  /** Of the whole payload. */
  readonly size: number
  /** Its beginning. */
  readonly payload: Uint8Array
  /** '' where it is no client. */
  readonly publisher: string
  /** Wall clock. */
  readonly atMs: number
}

export interface LiveBatch {
  readonly messages: readonly LiveMessage[]
  /** For which there was no room. */
  readonly leftOut: number
}
