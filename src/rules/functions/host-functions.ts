// What the functions of the rule language need from outside of this module. A higher module provides it.

import type { EvaluationClock } from '../budget/rule-error.ts'
import type { CompiledSchema } from '../schemas/model/schema.ts'
import type { RuleValue } from '../values/value.ts'

export type CompressionFormat = 'gzip' | 'deflate-raw' | 'zlib'

/** Where `kv_store_*` and `proc_dict_*` keep values: shared by all rules, or by the rules of one shard. */
export type StoreArea = 'node' | 'shard'

/**
 * Host functions are synchronous. They throw RuleError if they cannot do what the rule requires; other errors end only
 * the evaluation as well and are reported as internal errors.
 */
export interface HostFunctions extends EvaluationClock {
  /** Time limit of jq where a rule names none, in milliseconds. */
  readonly jqTimeoutMs: number
  /** Current time since 1970 in nanoseconds. */
  nowNanoseconds(): bigint
  /** Offset of local time from UTC at a time, in seconds, positive east of Greenwich. */
  localOffsetSeconds(atSeconds: number): number
  /** A float of at least 0 and below 1. */
  random(): number
  /** A UUID of version 4 with hyphens. */
  uuid(): string
  /** Undefined if the algorithm is not known. Names as OpenSSL writes them: sha256, sha3-256. */
  hash(algorithm: string, data: Uint8Array): Uint8Array | undefined
  compress(format: CompressionFormat, data: Uint8Array): Uint8Array
  /** Throws RuleError for damaged data and if the result is larger than `maxBytes`. */
  decompress(format: CompressionFormat, data: Uint8Array, maxBytes: number): Uint8Array
  /** A schema of the schema registry. Throws RuleError if there is none of that name. */
  schema(name: string): CompiledSchema
  /** An environment variable, or undefined. */
  environmentVariable(name: string): string | undefined
  storedValue(area: StoreArea, key: string): RuleValue
  /** Stores a value, or deletes it if `value` is undefined. Returns the previous value. */
  storeValue(area: StoreArea, key: string, value: RuleValue): RuleValue
}
