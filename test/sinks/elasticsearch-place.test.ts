// The action line before each document in a bulk request.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileSinkTemplate } from '../../src/actions/results/compile-sink-template.ts'
import { elasticsearchSinkType } from '../../src/sinks/elasticsearch/elasticsearch-sink.ts'

type ElasticAction = Parameters<typeof elasticsearchSinkType.createRenderer>[0]

function placeOf(settings: object): unknown {
  const parameters = { action: 'create', overwrite: true, index: 'readings', doc_as_upsert: false, ...settings }
  const render = elasticsearchSinkType.createRenderer(
    { parameters } as unknown as ElasticAction,
    compileSinkTemplate,
    () => '{}',
  )
  return JSON.parse(render({ plant: 'north', n: 7 }).attributes[0][1])
}

test('a document has a routing and requires an alias only if these are configured', () => {
  assert.deepEqual(placeOf({ require_alias: false }), { index: { _index: 'readings' } })
  assert.deepEqual(placeOf({ id: '${n}', routing: '${plant}', require_alias: true }), {
    index: { _index: 'readings', _id: '7', routing: 'north', require_alias: true },
  })
})
