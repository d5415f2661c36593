// Interface to the host: functions that rules call and that a higher module implements.

import type { EvaluationLimit, RuleValue } from '../../values/index.ts'
import type { CompiledSchema } from '../../schemas/index.ts'

export type CompressionFormat = 'gzip' | 'deflate-raw' | 'zlib'

/** Scope of stored values: `kv_store_*` shares them on the node, `proc_dict_*` on one shard. */
export type StoreArea = 'node' | 'shard'

/**
 * Host functions are synchronous. They throw RuleError if they cannot do what the rule requires; other errors end only
 * the evaluation as well and are reported as internal errors.
 */
export interface HostFunctions extends EvaluationLimit {
  /** Time limit of jq in milliseconds, if the rule sets none. */
  readonly jqTimeoutMs: number
  /** Current time since 1970 in nanoseconds. */
  nowNanoseconds(): bigint
  /** Offset of local time from UTC at a time, in seconds, positive east of Greenwich. */
  localOffsetSeconds(atSeconds: number): number
  /** Returns a float of at least 0 and below 1. */
  random(): number
  /** Returns a UUID of version 4 with hyphens. */
  uuid(): string
  /** Returns the hash; undefined if the algorithm is unknown. Algorithms have the names of OpenSSL: sha256, sha3-256. */
  hash(algorithm: string, data: Uint8Array): Uint8Array | undefined
  compress(format: CompressionFormat, data: Uint8Array): Uint8Array
  /** Throws RuleError for damaged data and if the result is larger than `maxBytes`. */
  decompress(format: CompressionFormat, data: Uint8Array, maxBytes: number): Uint8Array
  /** Returns a schema of the schema registry. Throws RuleError if it does not exist. */
  findSchema(name: string): CompiledSchema
  /** An environment variable, or undefined. */
  readEnvironmentVariable(name: string): string | undefined
  readStoredValue(area: StoreArea, key: string): RuleValue
  /** Stores a value, or deletes it if `value` is undefined. Returns the previous value. */
  storeValue(area: StoreArea, key: string, value: RuleValue): RuleValue
}
