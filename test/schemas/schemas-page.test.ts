// The worked examples of docs/SCHEMAS.md: each brings its schema.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { compileRule } from '../../src/rules/index.ts'
import { SchemaRegistry, type SchemaType } from '../../src/schemas/index.ts'
import { decodeJson, type RuleMap } from '../../src/values/index.ts'
import { outputOf } from '../rules/evaluate.ts'
import { workedExamples } from '../rules/reference-page.ts'
import { sampleHost } from '../rules/sample-host.ts'

const page = readFileSync(fileURLToPath(new URL('../../docs/SCHEMAS.md', import.meta.url)), 'utf8')
const schemaBlock = /\n```schema (json|avro|protobuf) (\w+)\n([^]*?)\n```\n/
const parts = page.split(/(?=^### \d+\. )/m).slice(1)

/** A message whose payload may be bytes. */
function messageOf(json: string): RuleMap {
  const message = decodeJson(json) as RuleMap
  const { payload } = message as { payload: { $base64?: string } }
  if (typeof payload.$base64 !== 'string') return message
  return { ...message, payload: Buffer.from(payload.$base64, 'base64') }
}

describe('worked examples of docs/SCHEMAS.md', () => {
  assert.equal(parts.length, 6)
  for (const part of parts) {
    const [, type, name, source] = schemaBlock.exec(part) ?? []
    const definitions = type === undefined ? [] : [{ name, type: type as SchemaType, source }]
    const [example] = workedExamples(part.replace(schemaBlock, '').trimEnd())
    test(example.title, () => {
      const registry = new SchemaRegistry(definitions)
      const host = sampleHost({ findSchema: (wanted) => registry.find(wanted) })
      assert.equal(outputOf(example.sql, messageOf(example.message), host), example.result)
      assert.deepEqual(compileRule(example.sql).warnings, [])
    })
  }
})
