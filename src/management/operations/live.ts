import type { Readable } from 'node:stream'
import type { TopicFilter } from '../../protocol/index.ts'

export interface LiveWanted {
  readonly filter: TopicFilter
  /** Messages per second. */
  readonly maxRate: number
  /** Maximum bytes of a payload. */
  readonly maxBytes: number
}

/** Live messages, for the API. */
export interface LiveOperations {
  /** Returns lines of JSON until the stream is destroyed. */
  open(wanted: LiveWanted): Readable | 'too-many'
}
