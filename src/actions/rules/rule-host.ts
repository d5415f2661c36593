// Implements the host functions of rules: time, randomness, hashes, compression, stored values.

import { createHash, getHashes, randomUUID } from 'node:crypto'
import { deflateRawSync, deflateSync, gunzipSync, gzipSync, inflateRawSync, inflateSync } from 'node:zlib'
import type { HostFunctions, StoreArea } from '../../rules/index.ts'
import type { SchemaRegistry } from '../../schemas/index.ts'
import { RuleError, type RuleValue } from '../../values/index.ts'

const compressors = { gzip: gzipSync, 'deflate-raw': deflateRawSync, zlib: deflateSync }
const decompressors = { gzip: gunzipSync, 'deflate-raw': inflateRawSync, zlib: inflateSync }
const algorithms = new Set(getHashes().map((name) => name.toLowerCase()))
const nanosecondsPerMs = 1_000_000n
const minuteMs = 60_000

/** Values by key: a map, or one that reports changes to other shards. */
export type StoredValues = Pick<Map<string, RuleValue>, 'get' | 'set' | 'delete' | 'size'>

/** Maximum number of values that rules may store, and of characters in a key. */
const maxStoredValues = 100_000
const maxKeyLength = 4_096

/** The settings that functions of rules use. Members may change. */
export interface RuleHostSettings extends Pick<HostFunctions, 'maxEvaluationMs' | 'jqTimeoutMs'> {
  readonly schemas: Pick<SchemaRegistry, 'find'>
}

/** `nowMs`: milliseconds since 1970. `nodeValues`: those of `kv_store_*`. */
export function createRuleHost(
  nowMs: () => number,
  settings: RuleHostSettings,
  nodeValues: StoredValues = new Map<string, RuleValue>(),
): HostFunctions {
  const stored: Readonly<Record<StoreArea, StoredValues>> = { node: nodeValues, shard: new Map<string, RuleValue>() }
  return {
    nowNanoseconds: () => BigInt(Math.floor(nowMs())) * nanosecondsPerMs,
    localOffsetSeconds: (atSeconds) => -new Date(atSeconds * 1_000).getTimezoneOffset() * (minuteMs / 1_000),
    random: Math.random,
    uuid: randomUUID,
    hash: (algorithm, data) =>
      algorithms.has(algorithm.toLowerCase()) ? createHash(algorithm).update(data).digest() : undefined,
    compress: (format, data) => compressors[format](data),
    decompress(format, data, maxOutputLength) {
      try {
        return decompressors[format](data, { maxOutputLength })
      } catch (error) {
        throw new RuleError(`decompression failed: ${error instanceof Error ? error.message : String(error)}`)
      }
    },
    findSchema: (name) => settings.schemas.find(name),
    get maxEvaluationMs() {
      return settings.maxEvaluationMs
    },
    get jqTimeoutMs() {
      return settings.jqTimeoutMs
    },
    readEnvironmentVariable: (name) => process.env[name],
    readStoredValue: (area, key) => stored[area].get(key),
    storeValue(area, key, value) {
      const values = stored[area]
      const previous = values.get(key)
      if (value === undefined) values.delete(key)
      else if (key.length > maxKeyLength) throw new RuleError(`the key is longer than ${maxKeyLength} characters`)
      else if (previous === undefined && values.size >= maxStoredValues)
        throw new RuleError(`more than ${maxStoredValues} values are stored: delete some of them`)
      else values.set(key, value)
      return previous
    },
  }
}
