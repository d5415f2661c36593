import type { Readable } from 'node:stream'
import type { TopicFilter } from '../../protocol/index.ts'

export interface LiveWanted {
  readonly filter: TopicFilter
  /** Messages per second. */
  readonly maxRate: number
  /** Of a payload. */
  readonly maxBytes: number
}

/** What the management asks about messages as they come. */
export interface LiveOperations {
  /** Lines of JSON, until the stream is destroyed. */
  open(wanted: LiveWanted): Readable | 'too-many'
}
