// Host functions for tests: a fixed time, no randomness, real hashes and compression.

import { createHash, getHashes } from 'node:crypto'
import { deflateRawSync, deflateSync, gunzipSync, gzipSync, inflateRawSync, inflateSync } from 'node:zlib'
import type { HostFunctions } from '../../src/rules/index.ts'
import { SchemaRegistry, type SchemaDefinition } from '../../src/schemas/index.ts'
import { RuleError, type RuleValue } from '../../src/values/index.ts'

/** 2024-02-23T15:56:30.123456789Z */
export const sampleNow = 1_708_703_790_123_456_789n

const compressors = { gzip: gzipSync, 'deflate-raw': deflateRawSync, zlib: deflateSync }
const decompressors = { gzip: gunzipSync, 'deflate-raw': inflateRawSync, zlib: inflateSync }

/** Schemas that rules of tests know. The examples of docs/SCHEMAS.md bring their own. */
export const sampleSchemas: readonly SchemaDefinition[] = [
  {
    name: 'reading',
    type: 'avro',
    source: '{"type":"record","name":"Reading","fields":[{"name":"id","type":"long"},{"name":"t","type":"float"}]}',
  },
  { name: 'person', type: 'protobuf', source: 'syntax = "proto3"; message Person { string name = 1; int32 age = 2; }' },
  {
    name: 'positive',
    type: 'json',
    source: '{"type":"object","properties":{"t":{"type":"number","minimum":0}},"required":["t"]}',
  },
]

/** A host at UTC+01:00 whose values are the same at each call. */
export function sampleHost(changes: Partial<HostFunctions> = {}): HostFunctions {
  const stored = new Map<string, RuleValue>()
  return {
    maxEvaluationMs: 30,
    jqTimeoutMs: 10_000,
    nowNanoseconds: () => sampleNow,
    localOffsetSeconds: () => 3_600,
    random: () => 0.25,
    uuid: () => '123e4567-e89b-42d3-a456-426614174000',
    hash: (algorithm, data) =>
      getHashes().includes(algorithm) ? createHash(algorithm).update(data).digest() : undefined,
    compress: (format, data) => compressors[format](data),
    decompress: (format, data, maxOutputLength) => {
      try {
        return decompressors[format](data, { maxOutputLength })
      } catch (error) {
        throw new RuleError(`decompression failed: ${String(error)}`)
      }
    },
    findSchema: (name) => new SchemaRegistry(sampleSchemas).find(name),
    readEnvironmentVariable: (name) => (name === 'EMQXVAR_SITE' ? 'hall 3' : undefined),
    readStoredValue: (area, key) => stored.get(`${area} ${key}`),
    storeValue: (area, key, value) => {
      const previous = stored.get(`${area} ${key}`)
      stored.set(`${area} ${key}`, value)
      return previous
    },
    ...changes,
  }
}
